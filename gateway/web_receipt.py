"""The link of the review pages that downloads a call's receipt, which verifies elsewhere with the public key alone.

Guarantees: of what is not decided and of what is no call the same is said, so that nothing is learned from asking.
"""

from __future__ import annotations

import json
from typing import Final

from fastapi import APIRouter
from fastapi.responses import Response

from checkvalve.approvals.call_receipts import Unsigned, call_receipt
from checkvalve.approvals.errors import LogError, LogTamperedError, NotFoundError
from checkvalve.gateway.web_desk import Looking, Stop
from checkvalve.gateway.web_item import Id, show_card

router: Final = APIRouter()


@router.get("/items/{name}/receipt")
def receipt(visit: Looking, name: Id) -> Response:
    """Send the receipt of a call that was decided as a file, or the card with the reason why there is none."""
    queue = visit.desk.queue
    try:
        row = queue.get(name)
    except NotFoundError:
        raise Stop(404, "receipt.pending") from None
    try:
        with queue.store.read() as connection:
            made = call_receipt(connection, row, queue.veiling.veil(row.thread), whole=True)
    except LogTamperedError:
        raise
    except LogError:
        return show_card(visit, row, status=409, problem="receipt.two")
    if made is None:
        raise Stop(404, "receipt.pending")
    if isinstance(made, Unsigned) and made.is_never:
        return show_card(visit, row, status=404, problem="receipt.never")
    if isinstance(made, Unsigned):
        return show_card(visit, row, status=404, problem="receipt.soon")
    headers = {"Content-Disposition": f'attachment; filename="receipt-{name[:8]}.json"', "Cache-Control": "no-store"}
    return Response(json.dumps(made.to_json(), indent=1), media_type="application/json", headers=headers)


__all__ = ["router"]
