//! Several builds of one program for different processors.

/// The level of x86-64 that the processor has, of those that builds are made for: 4 (AVX-512 with VNNI), 3 (AVX2), or 1 for
/// any other processor. The variable `BITMC_BUILD`, 1, 3 or 4, sets the highest one that is used.
#[must_use]
pub fn level() -> u8 {
    let wanted = std::env::var("BITMC_BUILD").ok().and_then(|wanted| wanted.parse().ok());
    of_processor().min(wanted.unwrap_or(4)).max(1)
}

#[cfg(target_arch = "x86_64")]
fn of_processor() -> u8 {
    let third = is_x86_feature_detected!("avx2")
        && is_x86_feature_detected!("bmi1")
        && is_x86_feature_detected!("bmi2")
        && is_x86_feature_detected!("f16c")
        && is_x86_feature_detected!("fma")
        && is_x86_feature_detected!("lzcnt")
        && is_x86_feature_detected!("movbe");
    let fourth = is_x86_feature_detected!("avx512f")
        && is_x86_feature_detected!("avx512bw")
        && is_x86_feature_detected!("avx512cd")
        && is_x86_feature_detected!("avx512dq")
        && is_x86_feature_detected!("avx512vl")
        && is_x86_feature_detected!("avx512vnni");
    match (third, fourth) {
        (true, true) => 4,
        (true, false) => 3,
        _ => 1,
    }
}

#[cfg(not(target_arch = "x86_64"))]
fn of_processor() -> u8 {
    1
}

/// Starts the best build of this program for the processor in its place, where there are several in one folder: of `bitmc` those
/// are `bitmc-v3` and `bitmc-v4`. It returns where there is none, or none can be started.
pub fn start_the_best() {
    #[cfg(unix)]
    {
        use std::os::unix::process::CommandExt;
        let Ok(own) = std::env::current_exe() else { return };
        let name = own.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        if name.ends_with("-v3") || name.ends_with("-v4") {
            return;
        }
        for level in (3..=level()).rev() {
            let other = own.with_file_name(format!("{name}-v{level}"));
            if other.is_file() {
                let mut words = std::env::args_os();
                // It returns only where it could not.
                _ = std::process::Command::new(other).arg0(words.next().unwrap_or_default()).args(words).exec();
            }
        }
    }
}
