"""Each real data set is read from every form it is handed out in.

The files here are small inventions in the published formats, so nothing needs the real data.
"""

import struct
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from hesitant.datasets import (
    DataContentWarning,
    load_cardiotocography,
    load_cytometry,
    load_gastrointestinal,
)
from hesitant.studies import _sources
from hesitant.studies._loaders import DATA, DOCTORS, RAW

pytestmark = pytest.mark.filterwarnings("ignore::hesitant.datasets.DataContentWarning")


# ---- files in the published formats -------------------------------------------------------------


def write_xls(path: Path, sheets: dict[str, list[list[object]]]) -> None:
    """Write the oldest format Excel still opens: BIFF8 records in a compound file."""

    def record(code: int, data: bytes = b"") -> bytes:
        return struct.pack("<HH", code, len(data)) + data

    def begin(kind: int) -> bytes:
        return record(0x809, struct.pack("<HHHHII", 0x600, kind, 0, 1997, 0, 6))

    bodies = []
    for rows in sheets.values():
        body = begin(0x10)
        for r, row in enumerate(rows):
            for c, cell in enumerate(row):
                at = struct.pack("<HHH", r, c, 0)
                if isinstance(cell, str):
                    text = struct.pack("<HB", len(cell), 0) + cell.encode("latin-1")
                    body += record(0x204, at + text)
                elif cell is not None:
                    body += record(0x203, at + struct.pack("<d", cell))
        bodies.append(body + record(0x0A))
    start = len(begin(5)) + sum(12 + len(name) for name in sheets) + 4
    stream = begin(5)
    for name, body in zip(sheets, bodies, strict=True):
        stream += record(0x85, struct.pack("<IBBBB", start, 0, 0, len(name), 0) + name.encode())
        start += len(body)
    stream += record(0x0A) + b"".join(bodies)
    stream = stream.ljust(max(4096, -(-len(stream) // 512) * 512), b"\0")

    end, free = 0xFFFFFFFE, 0xFFFFFFFF
    n = len(stream) // 512
    assert n <= 126, "one sector of allocations is all this writer knows"
    mark = bytes.fromhex("d0cf11e0a1b11ae1")
    header = struct.pack(
        *("<8s16xHHHHH6x10I", mark, 0x3E, 3, 0xFFFE, 9, 6, 0, 1, 1, 0, 4096, end, 0, end, 0, 0)
    )
    header += struct.pack("<I", free) * 108
    table = struct.pack("<128I", 0xFFFFFFFD, end, *range(3, 2 + n), end, *[free] * (126 - n))

    def entry(name: str, kind: int, child: int, first: int, size: int) -> bytes:
        wide = name.encode("utf-16-le") + b"\0\0" if name else b""
        form = "<64sHBBIII36xIQ"
        return struct.pack(form, wide, len(wide), kind, 1, free, free, child, first, size)

    folder = entry("Root Entry", 5, 1, end, 0) + entry("Workbook", 2, free, 2, len(stream))
    path.write_bytes(header + table + folder + entry("", 0, free, 0, 0) * 2 + stream)


def write_xlsx(path: Path, rows: list[list[str | None]]) -> None:
    def cell(c: int, r: int, text: str) -> str:
        return f'<c r="{chr(65 + c)}{r}" t="inlineStr"><is><t>{text}</t></is></c>'

    lines = [
        f'<row r="{r}">' + "".join(cell(c, r, t) for c, t in enumerate(row) if t) + "</row>"
        for r, row in enumerate(rows, start=1)
    ]
    office = "http://schemas.openxmlformats.org"
    sheet = f"{office}/spreadsheetml/2006/main"
    kind = f"{office}/officeDocument/2006/relationships"
    link = '<Relationships xmlns="{0}/package/2006/relationships"><Relationship Id="a" '
    link += 'Type="{1}/{2}" Target="{3}"/></Relationships>'
    types = "application/vnd.openxmlformats-officedocument.spreadsheetml"
    with zipfile.ZipFile(path, "w") as book:
        book.writestr(
            "[Content_Types].xml",
            f'<Types xmlns="{office}/package/2006/content-types">'
            '<Default Extension="rels" '
            'ContentType="application/vnd.openxmlformats-package.relationships+xml"/>'
            f'<Override PartName="/xl/workbook.xml" ContentType="{types}.sheet.main+xml"/>'
            f'<Override PartName="/xl/s.xml" ContentType="{types}.worksheet+xml"/></Types>',
        )
        to_book = link.format(office, kind, "officeDocument", "xl/workbook.xml")
        book.writestr("_rels/.rels", to_book)
        to_sheet = link.format(office, kind, "worksheet", "s.xml")
        book.writestr("xl/_rels/workbook.xml.rels", to_sheet)
        named = '<sheets><sheet name="S" sheetId="1" r:id="a"/></sheets>'
        book.writestr(
            "xl/workbook.xml", f'<workbook xmlns="{sheet}" xmlns:r="{kind}">{named}</workbook>'
        )
        body = f"<sheetData>{''.join(lines)}</sheetData>"
        book.writestr("xl/s.xml", f'<worksheet xmlns="{sheet}">{body}</worksheet>')


def recordings() -> pd.DataFrame:
    rng = np.random.default_rng(0)
    table = pd.DataFrame(rng.integers(1, 200, (40, len(RAW))), columns=list(RAW))
    table["DR"] = 0
    table["MSTV"] = table["MSTV"] / 10
    table.insert(0, "b", np.arange(40))
    table.insert(1, "e", np.arange(40) + 100)
    table["CLASS"] = np.resize([5, 6, 9, 10, 1], 40)
    table["NSP"] = np.resize([1, 2, 3], 40)
    return table


def lesions() -> tuple[pd.DataFrame, pd.DataFrame]:
    rng = np.random.default_rng(0)
    kinds = ["adenoma"] * 8 + ["hyperplasic"] * 8 + ["serrated"] * 4
    names = [f"{kind}_{k + 1}" for k, kind in enumerate(kinds)]
    opinions = pd.DataFrame({"lesion": names, "truth": kinds})
    for doctor in DOCTORS:
        opinions[doctor] = kinds
    # On the first lesion five doctors of seven go wrong, on the second two.
    opinions.loc[0, list(DOCTORS[:5])] = "hyperplasic"
    opinions.loc[1, list(DOCTORS[:2])] = "hyperplasic"
    features = pd.DataFrame({"lesion": np.repeat(names, 2), "light": np.tile([1, 2], 20)})
    features.insert(1, "class", np.repeat([3] * 8 + [1] * 8 + [2] * 4, 2))
    values = rng.normal(size=(40, 6)).round(6)
    values[:, 2] = 7.5
    values[:, 4] += 4 * (features["class"] == 1)
    for j in range(6):
        features[f"f{j + 1}"] = values[:, j]
    return features, opinions


# ---- cardiotocography ---------------------------------------------------------------------------


@pytest.fixture
def ctg(tmp_path: Path) -> Path:
    recordings().to_csv(tmp_path / "ctg_full.csv", index=False)
    return tmp_path


def test_patterns_states_and_constant_columns(ctg: Path) -> None:
    data = load_cardiotocography(ctg, components=None)
    assert len(data) == 32  # eight recordings are of another pattern
    assert set(data.details["CLASS"]) == {5, 6, 9, 10}
    expected = data.details["NSP"].map({1: "normal", 2: None, 3: "pathologic"})
    assert [*data.labels] == [None if pd.isna(s) else s for s in expected]
    assert data.feature_names == tuple(c for c in RAW if c != "DR")
    assert data.truth is None


def test_events_per_second(ctg: Path) -> None:
    data = load_cardiotocography(ctg, columns="data", components=None)
    counted = load_cardiotocography(ctg, components=None)
    assert data.feature_names == DATA
    np.testing.assert_allclose(data.features["AC"], counted.features["AC"] / 100)


def test_scores_are_the_principal_components_of_the_correlation_matrix(ctg: Path) -> None:
    scores = load_cardiotocography(ctg, components=3).features
    raw = load_cardiotocography(ctg, components=None).features
    eigenvalues = np.linalg.eigvalsh(np.corrcoef(raw.T))[::-1][:3]
    np.testing.assert_allclose(np.cov(scores.T), np.diag(eigenvalues), atol=1e-10)
    with pytest.raises(ValueError, match="components=99: give a whole number from 1 to 22"):
        load_cardiotocography(ctg, components=99)


def test_uci_workbook_says_the_same_as_the_table(ctg: Path, tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    table = recordings()
    table.insert(0, "FileName", "a.txt")
    rows: list[list[object]] = [list(table), [None] * table.shape[1]]
    rows += [[cell if isinstance(cell, str) else float(cell) for cell in r] for r in table.values]
    rows += [[None, 99.0], [None] * 5 + [1.0], [None]]  # totals below the data
    other = tmp_path / "uci"
    other.mkdir()
    write_xls(other / "CTG.xls", {"Description": [["about"]], "Data": [], "Raw Data": rows})
    pd.testing.assert_frame_equal(
        load_cardiotocography(other).features, load_cardiotocography(ctg).features
    )


def test_workbook_without_its_reader(ctg: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (ctg / "ctg_full.csv").unlink()
    (ctg / "CTG.xls").write_bytes(b"")
    monkeypatch.setitem(__import__("sys").modules, "python_calamine", None)
    with pytest.raises(ImportError, match=r"needs python_calamine: .*'hesitant\[data\]'"):
        load_cardiotocography(ctg)


def test_damaged_files_are_named(ctg: Path) -> None:
    recordings().drop(columns=["ASTV", "NSP"]).to_csv(ctg / "ctg_full.csv", index=False)
    with pytest.raises(ValueError, match=r"ctg_full.csv lacks the columns ASTV, NSP"):
        load_cardiotocography(ctg)
    recordings().astype(object).replace({"LB": {recordings()["LB"][3]: "?"}}).to_csv(
        ctg / "ctg_full.csv", index=False
    )
    with pytest.raises(ValueError, match="column 'LB' has no number in data row"):
        load_cardiotocography(ctg)
    with pytest.raises(ValueError, match="columns='all' is unknown; choose one of 'raw', 'data'"):
        load_cardiotocography(ctg, columns="all")


# ---- gastrointestinal ---------------------------------------------------------------------------


@pytest.fixture
def gastro(tmp_path: Path) -> Path:
    features, opinions = lesions()
    features.to_csv(tmp_path / "gastro_features.csv", index=False)
    # Opinions come in an order of their own.
    opinions[::-1].to_csv(tmp_path / "gastro_opinions.csv", index=False)
    return tmp_path


def test_panel_decides_by_lesion(gastro: Path) -> None:
    data = load_gastrointestinal(gastro, features=["f5"])
    assert (len(data), data.n_blank) == (40, 4)
    assert [*data.details["lesion"][~data.labelled]] == ["adenoma_1"] * 2 + ["adenoma_2"] * 2
    assert (data.labels[data.labelled] == data.truth[data.labelled]).all()
    # The histology makes it six of eight for the second lesion.
    data = load_gastrointestinal(gastro, panel="doctors+histology", features=["f5"])
    assert set(data.details["lesion"][~data.labelled]) == {"adenoma_1"}


def test_lights_and_features(gastro: Path) -> None:
    white = load_gastrointestinal(gastro, light="white", features=None)
    assert (len(white), set(white.details["light"])) == (20, {"white"})
    assert white.feature_names == ("f1", "f2", "f4", "f5", "f6")  # f3 is constant
    assert load_gastrointestinal(gastro, features=1).feature_names == ("f5",)
    assert "f5" in load_gastrointestinal(gastro, features=1, select_on="three-class").feature_names
    with pytest.raises(ValueError, match=r"f9 not among f1 to f6"):
        load_gastrointestinal(gastro, features=["f9"])
    with pytest.raises(ValueError, match="light='red' is unknown; choose one of"):
        load_gastrointestinal(gastro, light="red")
    with pytest.raises(ValueError, match="at_least=9: give a whole number of experts from 1 to 7"):
        load_gastrointestinal(gastro, at_least=9)


def test_published_forms_say_the_same(gastro: Path, tmp_path: Path) -> None:
    pytest.importorskip("python_calamine")
    features, opinions = lesions()
    other = tmp_path / "official"
    other.mkdir()
    features[["lesion", "class", "light", *(f"f{k}" for k in range(1, 7))]].T.to_csv(
        other / "data.txt", header=False, index=False
    )
    titles = ["LESION", "GROUND TRUTH", *(f"EXPERT {k}" for k in range(1, 5))]
    titles += [f"BEGINNER {k}" for k in range(1, 4)]
    # The page numbers lesions with two digits.
    opinions["lesion"] = opinions["lesion"].str.replace(r"_(\d)$", r"_0\1", regex=True)
    rows = [["Human evaluation"], [None], titles, *opinions.values.tolist(), [None], ["Accuracy"]]
    write_xlsx(other / "HumanEvaluation.xlsx", rows)
    one, two = load_gastrointestinal(gastro), load_gastrointestinal(other)
    pd.testing.assert_frame_equal(one.features, two.features)
    pd.testing.assert_series_equal(one.labels, two.labels)


def test_opinions_must_cover_the_lesions(gastro: Path) -> None:
    _, opinions = lesions()
    opinions[1:].to_csv(gastro / "gastro_opinions.csv", index=False)
    with pytest.raises(ValueError, match="no opinions on 1 lesions, adenoma_1 among them"):
        load_gastrointestinal(gastro)
    pd.concat([opinions, opinions[:1]]).to_csv(gastro / "gastro_opinions.csv", index=False)
    with pytest.raises(ValueError, match="the lesion adenoma_1 twice"):
        load_gastrointestinal(gastro)
    opinions.replace("serrated", "polyp").to_csv(gastro / "gastro_opinions.csv", index=False)
    with pytest.raises(ValueError, match="the opinion 'polyp'; known are adenoma, hyper"):
        load_gastrointestinal(gastro)


# ---- cytometry ----------------------------------------------------------------------------------

CELLS = "FL1_LOG,FL2_LOG,FL4_LOG,label\n10,20,30,1\n40,50,60,0\n70,80,90,4\n"


def test_cells_in_no_gate_are_blank(tmp_path: Path) -> None:
    (tmp_path / "cytometry_dlbcl030.csv").write_text(CELLS)
    data = load_cytometry(tmp_path)
    assert [*data.labels] == [1, None, 4]
    assert data.features.to_numpy().tolist() == [[10, 20, 30], [40, 50, 60], [70, 80, 90]]
    assert "11,792" in data.description


@pytest.mark.parametrize("gates", ["1\n0\n4\n", "gate\n1\n0\n4\n", "n,gate\n1,1\n2,0\n3,4\n"])
def test_exported_events_and_gates(tmp_path: Path, gates: str) -> None:
    (tmp_path / "dlbcl030_events.csv").write_text(
        "FS Lin,FL1 Log,FL2.LOG,FL4_LOG\n0,10,20,30\n0,40,50,60\n0,70,80,90\n"
    )
    with pytest.raises(FileNotFoundError, match=r"needs dlbcl030_labels.csv beside it"):
        load_cytometry(tmp_path)
    (tmp_path / "dlbcl030_labels.csv").write_text(gates)
    data = load_cytometry(tmp_path)
    assert [*data.labels] == [1, None, 4]
    assert [*data.features["FL2_LOG"]] == [20, 50, 80]
    (tmp_path / "dlbcl030_labels.csv").write_text("1\n")
    with pytest.raises(ValueError, match="1 labels for 3 events"):
        load_cytometry(tmp_path)


def test_invented_data_are_called_invented(tmp_path: Path) -> None:
    (tmp_path / "cytometry_dlbcl030.csv").write_text(CELLS)
    with pytest.warns(DataContentWarning, match="is not the published FlowCAP-I DLBCL sample 030"):
        load_cytometry(tmp_path)


def test_no_download_for_cytometry_but_an_explanation(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HESITANT_DATA", raising=False)
    monkeypatch.setattr(_sources, "_cache", lambda: tmp_path)
    with pytest.raises(FileNotFoundError) as caught:
        load_cytometry()
    for word in ("FR-FCM-ZZYY", "cytometry_dlbcl030.csv", "FCS", "HESITANT_DATA", str(tmp_path)):
        assert word in str(caught.value)


def test_fingerprint_knows_content_not_form() -> None:
    table = pd.DataFrame({"b": [1, 2], "a": [0.1 + 0.2, -0.0], "c": ["x ", "y"]})
    same = pd.DataFrame({"a": [0.0, 0.3], "c": ["y", "x"], "b": [2.0, 1.0]})
    assert _sources.fingerprint(table) == _sources.fingerprint(same)
    assert _sources.fingerprint(table) != _sources.fingerprint(table.assign(b=[2, 1]))
    assert _sources.fingerprint(table) != _sources.fingerprint(table.rename(columns={"b": "d"}))
