"""Compares a .parquet file of `iglu predict` or `iglu embed` with the .csv file of the same command, with pyarrow.

    pip install pyarrow
    iglu predict runs/mine graph.npz --out p.csv --proba && iglu predict runs/mine graph.npz --out p.parquet --proba
    python scripts/check_parquet.py p.parquet p.csv
"""

import csv
import sys

import pyarrow as pa
import pyarrow.parquet as pq


def main(parquet: str, text: str) -> None:
    table = pq.read_table(parquet)
    with open(text, newline="", encoding="utf-8") as file:
        names, *rows = csv.reader(file)
    assert table.column_names == names, (table.column_names, names)
    assert table.num_rows == len(rows), (table.num_rows, len(rows))
    for at, field in enumerate(table.schema):
        assert not field.nullable, field
        found, expected = table.column(at).to_pylist(), [row[at] for row in rows]
        if pa.types.is_float32(field.type):
            # Text may show fewer digits.
            pairs = zip(found, map(float, expected))
            assert all(abs(a - b) <= 5.1e-7 * max(1.0, abs(b)) for a, b in pairs), field.name
        elif pa.types.is_int64(field.type):
            assert found == list(map(int, expected)), field.name
        else:
            assert pa.types.is_string(field.type), field
            assert found == expected, field.name
    kinds = ", ".join(sorted({str(field.type) for field in table.schema}))
    print(f"{parquet}: {table.num_rows} rows, {table.num_columns} columns ({kinds}), as in {text}")


if __name__ == "__main__":
    main(*sys.argv[1:])
