"""What the tables are about: for each the name of its sheet, what a row is called, and its columns. All of it is invented."""

from typing import NamedTuple


class Column(NamedTuple):
    """``values``: texts that are drawn from, or the lowest and the highest of whole numbers."""

    name: str
    values: tuple[str, ...] | tuple[int, int]

    @property
    def numeric(self) -> bool:
        return isinstance(self.values[0], int)


class Theme(NamedTuple):
    """``columns[0]`` names the row and has no value twice, ``columns[1]`` groups the rows, the others are numbers. ``product``:
    what the product of the first two of these means."""

    sheet: str
    row: str
    columns: tuple[Column, ...]
    product: str


def _theme(sheet: str, row: str, names: str, group: str, groups: str, numbers: tuple[Column, ...], product: str) -> Theme:
    texts = Column(row.capitalize(), tuple(names.split())), Column(group, tuple(groups.split()))
    return Theme(sheet, row, (*texts, *numbers), product)


THEMES = (
    _theme("Stock", "product", "lamp chair desk shelf mirror carpet kettle clock vase stool blanket basket", "Category",
           "kitchen office bedroom", (Column("Price", (4, 95)), Column("Quantity", (2, 60)), Column("Weight", (1, 30))), "Value"),
    _theme("Staff", "employee", "Abel Bettina Cosmo Dunja Edgar Flora Gerd Hilda Ingo Jutta Karim Lene", "Department",
           "sales research service", (Column("Rate", (18, 75)), Column("Hours", (8, 40)), Column("Years", (1, 25))), "Wage"),
    _theme("Courses", "course", "algebra botany chemistry drawing ethics fencing geology history italian judo latin music",
           "Term", "spring summer autumn",
           (Column("Fee", (20, 140)), Column("Students", (5, 35)), Column("Lessons", (6, 30))), "Income"),
    _theme("Trips", "trip", "alpine baltic canal desert island jungle lagoon mountain oasis prairie river volcano", "Season",
           "spring summer winter", (Column("Cost", (90, 900)), Column("Guests", (2, 24)), Column("Days", (2, 21))), "Turnover"),
    _theme("Orders", "order", "K101 K102 K103 K104 K105 K106 K107 K108 K109 K110 K111 K112", "Status",
           "open shipped returned", (Column("Unit price", (3, 80)), Column("Units", (1, 50)), Column("Boxes", (1, 9))), "Total"),
    _theme("Teams", "team", "Badgers Comets Dragons Eagles Foxes Giants Hawks Jaguars Lions Otters Ravens Wolves", "League",
           "north south east", (Column("Points", (4, 70)), Column("Matches", (10, 34)), Column("Goals", (8, 90))), "Rating"),
)
NOTES = ("ask again in May", "checked twice", "do not change", "estimated", "from the old list", "needs a second look",
         "to be confirmed", "wrong last year")
