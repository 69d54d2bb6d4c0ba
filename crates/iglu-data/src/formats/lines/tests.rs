use super::*;

fn lines(bytes: &[u8]) -> Lines<&[u8]> {
    Lines::new(Unpacked::new(bytes, Limits::default()).unwrap())
}

const IDS: Columns<i64> = Columns { separator: b',', count: None, read: whole, expected: "a whole number" };

fn table(text: &[u8]) -> Result<Table<i64>> {
    lines(text).table(&IDS)
}

#[test]
fn lines_come_with_their_numbers_whatever_ends_them() {
    let mut all = Vec::new();
    let mut reader = lines(b"\xef\xbb\xbfa,b\r\n\n  \nc\nlast");
    while let Some(line) = reader.next().unwrap() {
        all.push((line.number, line.bytes.to_vec()));
    }
    assert_eq!(all, [(1, b"a,b".to_vec()), (4, b"c".to_vec()), (5, b"last".to_vec())]);
}

#[test]
fn lines_longer_than_the_buffer_are_whole() {
    let long = "1,".repeat(LONGEST / 2 - 1) + "1";
    let text = format!("{long}\n{long}\n");
    let table = table(text.as_bytes()).unwrap();
    assert_eq!((table.rows, table.cols), (2, LONGEST / 2));
    let e = lines(&vec![b'1'; 3 * LONGEST]).next().map(|_| ()).unwrap_err();
    assert!(e.to_string().starts_with("line 1: more than 1048576 bytes without a line end"), "{e}");
}

#[test]
fn bad_lines_name_line_column_and_value() {
    assert_eq!(table(b"0,1\n1,2\n").unwrap(), Table { rows: 2, cols: 2, values: vec![0, 1, 1, 2] });
    assert_eq!(table(b"3.0,-2\n").unwrap().values, [3, -2]);
    for (text, expect) in [
        (&b"0,1\n12,abc\n"[..], "line 2, column 2: 'abc'; expected a whole number"),
        (b"0,1\n1,2,3\n", "line 2: 3 columns; expected 2 columns"),
        (b"0,1\n1\n", "line 2: 1 column; expected 2 columns"),
        (b"0,3.7\n", "line 1, column 2: '3.7'; expected a whole number"),
        (b"0,9999999999999999999999\n", "'9999999999999999999999', which does not fit"),
        (b"source,target\n0,1\n", "line 1, column 1: 'source'; looks like a header"),
        (b"0,1\r1,2\r2,3", "carriage returns without line feeds"),
        (b"0,1\n0,\x00\n", "line 2, column 2: '\\x00'; a NUL byte"),
        (b"0,1\n0,\xff\xfe\n", "'\\xff\\xfe'; not UTF-8"),
        (b"0,1\n0,\n", "line 2, column 2: ''"),
        (b"0,1\n0,--2\n", "line 2, column 2: '--2'"),
    ] {
        let e = table(text).unwrap_err();
        assert!(e.to_string().contains(expect), "expected `{expect}` in:\n{e}");
        assert_eq!(e.exit_code(), 65);
    }
}

#[test]
fn decimals_are_rounded_as_the_standard_library_rounds() {
    let texts = [
        "0",
        "-0.0",
        "1",
        "0.1",
        "-0.057943",
        "123456789012345",
        "1234567890.12345",
        "0.000000000000001",
        "5.",
        ".5",
        "1e5",
        "-2.5E-3",
        "1e400",
        "nan",
        "inf",
        "123456789012345678901",
        "0.1234567890123456789",
        "9007199254740993",
        "+7",
    ];
    for text in texts {
        let expect: f64 = text.parse().unwrap();
        let found = decimal(text.as_bytes()).unwrap();
        assert!(found.to_bits() == expect.to_bits(), "{text}: {found} instead of {expect}");
    }
    for text in ["", ".", "-", "1.2.3", "1,5", "0x1", "1 2", "e5"] {
        assert_eq!(decimal(text.as_bytes()), None, "{text}");
    }
}

#[test]
fn random_decimals_are_rounded_right() {
    let mut state = 1_u64;
    for _ in 0..100_000 {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        let text = format!("{}.{}", (state >> 40) % 10_000, state >> (20 + state % 30));
        assert_eq!(decimal(text.as_bytes()), text.parse().ok(), "{text}");
    }
}

#[test]
fn whole_numbers_keep_all_64_bits() {
    for (text, expect) in [
        ("9223372036854775807", Some(i64::MAX)),
        ("-9223372036854775807", Some(-i64::MAX)),
        ("9223372036854775808", None),
        (" 12 ", Some(12)),
        ("1e3", Some(1000)),
        ("nan", None),
        ("inf", None),
        ("1e300", None),
    ] {
        assert_eq!(whole(text.as_bytes()), expect, "{text}");
    }
}
