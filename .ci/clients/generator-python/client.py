"""A Python client with code that openapi-generator generated."""

import datetime
import os
import uuid

from generated import ApiClient, Configuration, KpisApi, RisksApi
from generated.exceptions import NotFoundException
from generated.models import CreateKpiCheckin, CreateKpiCheckins, CreateRisk, Error, UpdateRisk

api = ApiClient(Configuration(host=os.environ["BASE_URL"], access_token=os.environ["API_KEY"]))
risks, kpis = RisksApi(api), KpisApi(api)


def once():
    return f"generator-python-{uuid.uuid4()}"


# Paging: every risk once, newest first.
ids, pages, cursor = set(), 0, None
while True:
    page = risks.list_risks(limit=7, cursor=cursor)
    for risk in page.data:
        assert risk.id not in ids, "a risk came twice"
        assert isinstance(risk.created_at, datetime.datetime)
        ids.add(risk.id)
    pages += 1
    assert page.has_more == (page.next_cursor is not None)
    if not page.has_more:
        break
    cursor = page.next_cursor
assert pages > 3 and len(ids) > 20, (pages, len(ids))

# A create.
created = risks.create_risk(
    once(),
    CreateRisk(
        title="Drift",
        description="Decisions drift with the season of the year.",
        severity="HIGH",
        likelihood="POSSIBLE",
        owner_name="Model owner",
        target_date=datetime.date(2027, 6, 30),
    ),
).data
assert created.source == "user_added" and created.owner_name == "Model owner"

# A PATCH with null.
changed = risks.update_risk(created.id, UpdateRisk(owner_name=None, target_date=None)).data
assert changed.owner_name is None and changed.target_date is None and changed.severity == "HIGH"

# A check-in with a value that float32 can't represent.
kpi = kpis.list_kpis(limit=1).data[0]
batch = kpis.create_kpi_checkins(
    once(), CreateKpiCheckins(checkins=[CreateKpiCheckin(key_result_code=kpi.code, value=16777217.25)])
).data
assert batch.accepted == 1 and batch.checkins[0].value == 16777217.25

# An error.
try:
    risks.update_risk("01990000-0000-7000-8000-000000000000", UpdateRisk(title="Unknown"))
except NotFoundException as refused:
    assert isinstance(refused.data, Error), refused
    assert refused.status == 404 and refused.data.error.code == "not_found"
    assert refused.data.error.request_id == refused.headers["X-Request-Id"]
else:
    raise AssertionError("an unknown risk was changed")

print(f"{len(ids)} risks on {pages} pages, a create, a PATCH with null, a check-in and an error")
