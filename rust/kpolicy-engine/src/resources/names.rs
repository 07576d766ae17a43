//! Names of resources: which are tracked, which are extended.
//!
//! Specification: kube-scheduler tracks cpu, memory, ephemeral-storage, the pod count, and scalars:
//! extended resources, `hugepages-*`, names with `kubernetes.io/` in them and
//! `attachable-volumes-*`.

pub(crate) const CPU: &str = "cpu";
pub(crate) const MEMORY: &str = "memory";
pub(crate) const EPHEMERAL_STORAGE: &str = "ephemeral-storage";
pub(crate) const PODS: &str = "pods";
pub(crate) const HUGE_PAGES_PREFIX: &str = "hugepages-";

const NATIVE_DOMAIN: &str = "kubernetes.io/";
const QUOTA_PREFIX: &str = "requests.";
const ATTACHABLE_PREFIX: &str = "attachable-volumes-";
const LABEL_BYTES_MAX: usize = 63;
const SUBDOMAIN_BYTES_MAX: usize = 253;

pub(crate) fn is_scalar(name: &str) -> bool {
    name.starts_with(HUGE_PAGES_PREFIX)
        || name.contains(NATIVE_DOMAIN)
        || name.starts_with(ATTACHABLE_PREFIX)
        || is_extended(name)
}

/// The unit of a scalar, as kube-scheduler's `/metrics/resources` names it; empty for devices.
pub(crate) fn unit(scalar: &str) -> &'static str {
    if scalar.starts_with(HUGE_PAGES_PREFIX) {
        "bytes"
    } else if scalar.starts_with(ATTACHABLE_PREFIX) {
        "integer"
    } else {
        ""
    }
}

/// A resource that a device plugin or an administrator brought, such as `example.com/gpu`.
pub(crate) fn is_extended(name: &str) -> bool {
    let Some((domain, local)) = name.split_once('/') else { return false };
    // With `requests.` in front (its name in a quota) it must still be a qualified name.
    !name.contains(NATIVE_DOMAIN)
        && !name.starts_with(QUOTA_PREFIX)
        && is_subdomain(domain)
        && QUOTA_PREFIX.len() + domain.len() <= SUBDOMAIN_BYTES_MAX
        && is_local(local)
}

fn is_subdomain(domain: &str) -> bool {
    domain.split('.').all(|part| {
        let inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit();
        part.bytes().all(|byte| inner(byte) || byte == b'-')
            && part.bytes().next().is_some_and(inner)
            && part.bytes().next_back().is_some_and(inner)
    })
}

fn is_local(local: &str) -> bool {
    local.len() <= LABEL_BYTES_MAX
        && local.bytes().all(|byte| byte.is_ascii_alphanumeric() || b"-_.".contains(&byte))
        && local.bytes().next().is_some_and(|byte| byte.is_ascii_alphanumeric())
        && local.bytes().next_back().is_some_and(|byte| byte.is_ascii_alphanumeric())
}

#[cfg(test)]
mod tests {
    use super::{is_extended, is_scalar};

    #[test]
    fn names_are_told_apart() {
        for name in ["example.com/gpu", "a/b", "nvidia.com/mig-1g.5gb"] {
            assert!(is_extended(name), "{name}");
        }
        for name in
            ["cpu", "kubernetes.io/x", "x.kubernetes.io/y", "requests.a/b", "A.b/c", "a/-b", "a/"]
        {
            assert!(!is_extended(name), "{name}");
        }
        for name in ["hugepages-2Mi", "x.kubernetes.io/y", "attachable-volumes-csi-x", "a.b/c"] {
            assert!(is_scalar(name), "{name}");
        }
        assert!(!is_scalar("storage"));
    }
}
