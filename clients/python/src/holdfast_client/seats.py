"""Which seats of an event are taken."""

import base64
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property

from .models import SeatingPlanSeat, SeatingPlanSection, SeatMap, SectionSeats


@dataclass(frozen=True)
class EventSeats:
    """The taken seats of an event with a seating plan. It does not distinguish held, sold and blocked seats."""

    event_id: str
    map: SeatMap  # as the API has sent it
    asked_for: tuple[str, ...]  # keys of sections; empty for all
    etag: str

    @cached_property
    def sections(self) -> dict[str, SectionSeats]:
        """The sections by their keys, in plan order."""
        return {section["key"]: section for section in self.map["sections"]}

    @cached_property
    def _bitmaps(self) -> dict[str, bytes]:
        return {key: base64.b64decode(section.get("bitmap", "")) for key, section in self.sections.items()}

    def is_taken(self, section: str, number: int) -> bool:
        """Whether a seat is not available. Seats count from 0 in plan order, as those of all_seats. What is not in the map is taken."""
        bitmap = self._bitmaps.get(section, b"")
        if number < 0 or number // 8 >= len(bitmap) or number >= self.sections[section]["total"]:
            return True
        return bitmap[number // 8] & (0x80 >> number % 8) != 0


def all_seats(section: SeatingPlanSection) -> Iterator[SeatingPlanSeat]:
    """Iterates over the seats of a section of a plan that was read, in plan order, without gaps."""
    for row in section.get("rows") or []:
        if not isinstance(row["seats"], int):
            yield from (seat for seat in row["seats"] if seat is not None)
