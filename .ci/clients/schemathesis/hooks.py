"""Rules that a schema can't express. They make the valid requests valid."""

import schemathesis
from hypothesis import strategies as st

dates = st.dates().map(lambda date: date.isoformat().zfill(10))
timestamps = st.datetimes().map(lambda time: time.isoformat(timespec="milliseconds").zfill(23) + "Z")
for name in ("instant", "date-or-date-time"):
    schemathesis.openapi.format(name, dates | timestamps)


@schemathesis.hook
def before_call(context, case, kwargs):
    if case.meta is None or not case.meta.generation.mode.is_positive:
        return
    # A cursor is authenticated, so only a cursor that the list issued is accepted.
    if case.query and "cursor" in case.query:
        case.query.pop("cursor")
    if not isinstance(case.body, dict):
        return
    # Whether a reason is required depends on the stored risk.
    if case.operation.label == "PATCH /risks/{id}":
        case.body.setdefault("severity_change_reason", "The model has been withdrawn.")
        if case.body["severity_change_reason"] is None:
            case.body["severity_change_reason"] = "The model has been withdrawn."
    # A check-in names an existing key result by id or by code. This code is in the
    # demonstration data.
    for point in case.body.get("checkins") or []:
        if isinstance(point, dict):
            point.pop("key_result_id", None)
            point["key_result_code"] = "KR-INV-01"
    # The receiver must have a public address.
    if "url" in case.body and case.path.startswith("/webhooks/"):
        case.body["url"] = "https://example.com/hooks"
