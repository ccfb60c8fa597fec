"""Files that tests of tables write, and how they read them."""

import io
import zipfile
from xml.sax.saxutils import escape

import pandas as pd
import pytest

from hesitant.tables import Columns, TableError, read_table, select_columns

MAIN = "http://schemas.openxmlformats.org/spreadsheetml/2006/main"
RELS = "http://schemas.openxmlformats.org/package/2006/relationships"
OFFICE = "http://schemas.openxmlformats.org/officeDocument/2006/relationships"
TYPES = "application/vnd.openxmlformats-officedocument.spreadsheetml"


def xlsx(sheets, cells=None):
    """Write a workbook by hand: sheets as lists of rows; ``cells`` replaces the first one's."""

    def cell(value, place):
        if isinstance(value, str):
            return f'<c r="{place}" t="inlineStr"><is><t>{escape(value)}</t></is></c>'
        return f'<c r="{place}"><v>{value!r}</v></c>'

    def page(rows):
        lines = (
            f'<row r="{i}">'
            + "".join(cell(v, f"{chr(65 + j)}{i}") for j, v in enumerate(row) if v is not None)
            + "</row>"
            for i, row in enumerate(rows, 1)
        )
        return f'<worksheet xmlns="{MAIN}"><sheetData>{"".join(lines)}</sheetData></worksheet>'

    buffer = io.BytesIO()
    numbers = range(1, len(sheets) + 1)
    with zipfile.ZipFile(buffer, "w", zipfile.ZIP_DEFLATED) as archive:
        parts = "".join(
            f'<Override PartName="/xl/worksheets/sheet{i}.xml" '
            f'ContentType="{TYPES}.worksheet+xml"/>'
            for i in numbers
        )
        archive.writestr(
            "[Content_Types].xml",
            '<Types xmlns="http://schemas.openxmlformats.org/package/2006/content-types">'
            '<Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{TYPES}.sheet.main+xml"/>'
            f"{parts}</Types>",
        )
        archive.writestr(
            "_rels/.rels",
            f'<Relationships xmlns="{RELS}"><Relationship Id="r1" '
            f'Type="{OFFICE}/officeDocument" Target="xl/workbook.xml"/></Relationships>',
        )
        listed = "".join(
            f'<sheet name="{name}" sheetId="{i}" r:id="s{i}"/>'
            for i, name in zip(numbers, sheets, strict=True)
        )
        archive.writestr(
            "xl/workbook.xml",
            f'<workbook xmlns="{MAIN}" xmlns:r="{OFFICE}"><sheets>{listed}</sheets></workbook>',
        )
        related = "".join(
            f'<Relationship Id="s{i}" Type="{OFFICE}/worksheet" Target="worksheets/sheet{i}.xml"/>'
            for i in numbers
        )
        archive.writestr(
            "xl/_rels/workbook.xml.rels",
            f'<Relationships xmlns="{RELS}">{related}</Relationships>',
        )
        for i, rows in zip(numbers, sheets.values(), strict=True):
            text = cells if cells is not None and i == 1 else page(rows)
            archive.writestr(f"xl/worksheets/sheet{i}.xml", text)
    return buffer.getvalue()


def table(text: str) -> pd.DataFrame:
    return read_table(io.BytesIO(text.encode()))


def select(source: str | bytes | pd.DataFrame, **options: object) -> Columns:
    if isinstance(source, str | bytes):
        data = source.encode() if isinstance(source, str) else source
        source = read_table(io.BytesIO(data))
    return select_columns(source, **({"label": "y"} | options))


def refused(source: str | bytes | pd.DataFrame, *words: str, **options: object) -> TableError:
    with pytest.raises(TableError) as caught:
        select(source, **options)
    for word in words:
        assert word in str(caught.value)
    assert len(str(caught.value)) < 1_000
    return caught.value
