//! How much memory the process has used at most.

/// Largest resident size so far in bytes; `None` where the system does not tell.
pub fn peak_bytes() -> Option<u64> {
    parse(&std::fs::read_to_string("/proc/self/status").ok()?)
}

/// Lets [`peak_bytes`] begin anew from the present size, where the system can do that.
pub fn forget_peak() {
    // Without it the peak is that of the whole process: larger, never smaller.
    let _ = std::fs::write("/proc/self/clear_refs", "5");
}

/// The line `VmHWM:   123 kB` of a Linux process status.
fn parse(status: &str) -> Option<u64> {
    let line = status.lines().find_map(|l| l.strip_prefix("VmHWM:"))?;
    let kibibytes: u64 = line.trim().strip_suffix("kB")?.trim_end().parse().ok()?;
    kibibytes.checked_mul(1024)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_line_is_found_or_nothing_is_claimed() {
        assert_eq!(parse("Name:\tiglu\nVmHWM:\t    2048 kB\nVmRSS:\t 1 kB\n"), Some(2048 * 1024));
        for bad in ["", "VmRSS:\t1 kB", "VmHWM:\tmany kB", "VmHWM: 3", "VmHWM: 99999999999999999999 kB"] {
            assert_eq!(parse(bad), None, "{bad}");
        }
    }

    #[test]
    #[cfg(target_os = "linux")]
    fn a_process_uses_memory() {
        assert!(peak_bytes().unwrap() > 100_000);
    }
}
