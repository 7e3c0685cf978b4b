"""A Python client with code that openapi-python-client generated."""

import datetime
import os
import uuid

from generated import AuthenticatedClient
from generated.api.kpis import create_kpi_checkins, list_kpis
from generated.api.risks import create_risk, list_risks, update_risk
from generated.models import (
    CreateKpiCheckin,
    CreateKpiCheckins,
    CreateRisk,
    CreateRiskLikelihood,
    CreateRiskSeverity,
    Error,
    KpiCheckinBatchEnvelope,
    RiskEnvelope,
    RiskList,
    UpdateRisk,
)
from generated.types import UNSET

api = AuthenticatedClient(base_url=os.environ["BASE_URL"], token=os.environ["API_KEY"], raise_on_unexpected_status=True)


def once():
    return f"python-{uuid.uuid4()}"


# Paging: every risk once, newest first.
ids, pages, cursor = set(), 0, UNSET
while True:
    page = list_risks.sync(client=api, limit=7, cursor=cursor)
    assert isinstance(page, RiskList), page
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
created = create_risk.sync(
    client=api,
    idempotency_key=once(),
    body=CreateRisk(
        title="Drift",
        description="Decisions drift with the season of the year.",
        severity=CreateRiskSeverity.HIGH,
        likelihood=CreateRiskLikelihood.POSSIBLE,
        owner_name="Model owner",
        target_date=datetime.date(2027, 6, 30),
    ),
)
assert isinstance(created, RiskEnvelope), created
assert created.data.source == "user_added" and created.data.owner_name == "Model owner"

# A PATCH with null.
changed = update_risk.sync(client=api, id=created.data.id, body=UpdateRisk(owner_name=None, target_date=None))
assert isinstance(changed, RiskEnvelope), changed
assert changed.data.owner_name is None and changed.data.target_date is None and changed.data.severity == "HIGH"

# A check-in with a value that float32 can't represent.
kpi = list_kpis.sync(client=api, limit=1).data[0]
batch = create_kpi_checkins.sync(
    client=api,
    idempotency_key=once(),
    body=CreateKpiCheckins(checkins=[CreateKpiCheckin(key_result_code=kpi.code, value=16777217.25)]),
)
assert isinstance(batch, KpiCheckinBatchEnvelope), batch
assert batch.data.accepted == 1 and batch.data.checkins[0].value == 16777217.25

# An error.
missing = update_risk.sync_detailed(client=api, id="01990000-0000-7000-8000-000000000000", body=UpdateRisk(title="Unknown"))
assert missing.status_code == 404 and isinstance(missing.parsed, Error), missing
assert missing.parsed.error.code == "not_found"
assert missing.parsed.error.request_id == missing.headers["X-Request-Id"]

print(f"{len(ids)} risks on {pages} pages, a create, a PATCH with null, a check-in and an error")
