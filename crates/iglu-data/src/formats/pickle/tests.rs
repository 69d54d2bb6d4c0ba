use super::*;

fn parse(bytes: &[u8]) -> Result<Pickle> {
    Pickle::parse(bytes.to_vec())
}

fn says(bytes: &[u8], expect: &str) {
    let e = parse(bytes).map(|p| p.describe(p.root())).unwrap_err();
    assert!(e.to_string().contains(expect), "expected `{expect}` in:\n{e}");
    assert_eq!(e.exit_code(), 65);
    assert!(e.to_string().contains("\n  fix: "), "{e}");
}

#[test]
fn programs_are_refused_by_name_and_place() {
    for (bytes, name, byte) in [
        (&b"cos\nsystem\n(S'true'\ntR."[..], "os.system", 0),
        (b"\x80\x02(cposix\nsystem\nX\x04\0\0\0trueo.", "posix.system", 3),
        (b"(ios\nsystem\n.", "os.system", 1),
        (b"\x80\x04\x8c\x08builtins\x8c\x04eval\x93.", "builtins.eval", 18),
        (b"\x80\x02}q\0(U\x03keycfunctools\npartial\n", "functools.partial", 11),
        (b"c__builtin__\ngetattr\n.", "__builtin__.getattr", 0),
        (b"cnumpy\nload\n.", "numpy.load", 0),
        (b"cscipy.sparse.csr\nos.system\n.", "scipy.sparse.csr.os.system", 0),
        // Known names are not called through `i` either.
        (b"(inumpy\ndtype\n.", "numpy.dtype", 1),
    ] {
        says(bytes, &format!("asks to call {name} at byte {byte}; refused, nothing was run"));
    }
    for (bytes, what) in [
        (&b"Pfile\n."[..], "asks for an object outside the file at byte 0"),
        (b"K\x01Q.", "asks for an object outside the file at byte 2"),
        (b"\x82\x01.", "asks for an object of Python's own list at byte 0"),
        (b"\x80\x05\x97.", "asks for a buffer outside the file at byte 2"),
        (b"(cnumpy\nndarray\no.", "asks to call an object at byte 16"),
    ] {
        says(bytes, what);
    }
}

#[test]
fn known_names_make_data_only() {
    for bytes in [
        // defaultdict(numpy.dtype), dtype as an array, an array of a class, an encoded encoding.
        &b"ccollections\ndefaultdict\n(cnumpy\ndtype\ntR."[..],
        b"cnumpy.core.multiarray\n_reconstruct\n(cnumpy\ndtype\n)U\x01btR.",
        b"c__builtin__\nlist\n(K\x01tR.",
        b"c_codecs\nencode\n(c_codecs\nencode\n(U\x01aU\x06latin1tRU\x06latin1tR.",
    ] {
        says(bytes, "a known name with unknown arguments");
    }
    says(b"K\x01)R.", "a call of something that has no name");
    says(b"cnumpy\ndtype\nK\x01R.", "arguments that are no short tuple");
    says(b"cscipy.sparse.csr\ncsr_matrix\n)\x81(K\x01K\x02tb.", "an object filled with something unknown");
}

#[test]
fn damage_is_named_with_its_place() {
    says(b"", "asks for 1 bytes at byte 0, 0 are left");
    says(b"<html>404", "looks like HTML: the download failed");
    says(b"\x80\x02", "asks for 1 bytes at byte 2");
    says(b"T\xff\xff\xff\xffabc.", "asks for 4294967295 bytes at byte 5, 4 are left");
    says(b"\x8e\xff\xff\xff\xff\xff\xff\xff\xffabc.", "asks for 18446744073709551615 bytes");
    says(b".", "fewer values than it uses at byte 0");
    says(b"(K\x01(.", "fewer values than it uses");
    says(b"h\x05.", "something recalled that was never remembered at byte 0");
    says(b"e.", "the end of something that never began at byte 0");
    says(b"}(K\x01u.", "a key without a value");
    says(b"K\x01(K\x01e.", "items for something that is no list");
    says(b"I12x\n.", "a number that is none");
    says(b"\x8a\x09\0\0\0\0\0\0\0\0\x01.", "a whole number beyond 64 bits");
    says(b"S'a\\q'\n.", "a string with unknown escapes");
    says(b"\xff.", "byte 0xff, which is no step of a pickle");
    says(b"K\x01.junk", "4 bytes after the end");
}

#[test]
fn depth_cycles_and_sharing_do_not_matter() {
    let mut deep = b"]".repeat(200_000);
    deep.extend(b"a".repeat(199_999));
    deep.push(b'.');
    assert_eq!(parse(&deep).unwrap().items(Value::Object(0)).unwrap().len(), 1);
    // A list that holds itself.
    let cyclic = parse(b"]q\0h\0a.").unwrap();
    assert_eq!(cyclic.items(cyclic.root()).unwrap(), [cyclic.root()]);
    // Each list holds the one before it ten times: 10^1000 items, if anybody unfolded them.
    let mut laughs = b"]q\0".to_vec();
    for _ in 0..1000 {
        laughs.extend(b"](");
        laughs.extend(b"h\0".repeat(10));
        laughs.extend(b"eq\0");
    }
    laughs.push(b'.');
    assert_eq!(parse(&laughs).unwrap().objects.len(), 1001);
    let many = b"N0".repeat(MOST_VALUES + 1);
    says(&many, "more than 16777216 values");
}

#[test]
fn numbers_and_strings_of_all_protocols() {
    for (bytes, expect) in [
        (&b"I-7\n."[..], Value::Int(-7)),
        (b"I01\n.", Value::Bool(true)),
        (b"L123L\n.", Value::Int(123)),
        (b"J\xff\xff\xff\xff.", Value::Int(-1)),
        (b"M\x01\x02.", Value::Int(513)),
        (b"\x8a\x02\x00\xff.", Value::Int(-256)),
        (b"\x8a\x00.", Value::Int(0)),
        (b"\x8b\x03\0\0\0\xff\xff\x00.", Value::Int(65535)),
        (b"F1.5\n.", Value::Float(1.5)),
        (b"G\x3f\xf8\0\0\0\0\0\0.", Value::Float(1.5)),
        (b"N.", Value::None),
        (b"\x89.", Value::Bool(false)),
        (b"K\x01K\x020.", Value::Int(1)),
        (b"K\x01(K\x021.", Value::Int(1)),
    ] {
        assert_eq!(parse(bytes).unwrap().root(), expect, "{}", bytes.escape_ascii());
    }
    for (bytes, expect) in [
        (&b"S'a\\x00\\n\\'\\\\'\n."[..], &b"a\0\n'\\"[..]),
        (b"S\"it's\"\n.", b"it's"),
        (b"V\\u0041\xe9\n.", "A\u{e9}".as_bytes()),
        (b"U\x02\xff\x00.", b"\xff\0"),
        (b"X\x02\0\0\0\xc3\xa9.", b"\xc3\xa9"),
        (b"C\x01a.", b"a"),
        (b"c_codecs\nencode\n(X\x02\0\0\0\xc3\xa9U\x06latin1tR.", b"\xe9"),
    ] {
        let pickle = parse(bytes).unwrap();
        assert_eq!(pickle.text(pickle.root()).unwrap(), expect, "{}", bytes.escape_ascii());
    }
}
