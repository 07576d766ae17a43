//! Every cluster of the golden cases is read without a message.

#![allow(clippy::expect_used, clippy::panic, reason = "a test may end with a panic")]

use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::Read;
use std::path::{Path, PathBuf};

use flate2::read::GzDecoder;
use kpolicy_codec::{Keep, file};
use kpolicy_engine::model::{Event, Kind};
use serde_json::Value;

fn cases(folder: &str) -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../tests/conformance").join(folder);
    let mut paths: Vec<PathBuf> = fs::read_dir(root)
        .expect("the golden cases are in the repository")
        .map(|entry| entry.expect("a folder can be listed").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "gz"))
        .collect();
    paths.sort();
    paths
}

fn read(path: &Path) -> Value {
    let mut text = String::new();
    GzDecoder::new(File::open(path).expect("a case can be opened"))
        .read_to_string(&mut text)
        .expect("a case is gzipped text");
    serde_json::from_str(&text).expect("a case is JSON")
}

/// Lists inside a case, whatever they stand in.
fn clusters(case: &Value) -> Vec<&Value> {
    match (case.get("cluster"), case.get("clusters").and_then(Value::as_array)) {
        (Some(cluster), _) => vec![cluster],
        (None, Some(clusters)) => clusters.iter().flat_map(clusters_of_entry).collect(),
        (None, None) => Vec::new(),
    }
}

fn clusters_of_entry(entry: &Value) -> Vec<&Value> {
    entry.get("cluster").map_or_else(|| vec![entry], |cluster| vec![cluster])
}

/// Files, clusters and objects of each kind in a folder, all read without a remark.
fn count(folder: &str) -> (usize, usize, BTreeMap<Kind, usize>) {
    let paths = cases(folder);
    let mut clusters_read = 0;
    let mut objects = BTreeMap::new();
    for path in &paths {
        let case = read(path);
        for cluster in clusters(&case) {
            clusters_read += 1;
            let items = cluster["items"].as_array().expect("a cluster is a list").len();
            let mut read = 0;
            let unreadable =
                file::objects(cluster.to_string().as_bytes(), Keep(None), &mut |event| {
                    let Event::Present(object) = event else {
                        panic!("a file tells of no deletion")
                    };
                    read += 1;
                    *objects.entry(object.kind()).or_default() += 1;
                });
            assert_eq!(unreadable, [], "{}", path.display());
            assert_eq!(read, items, "{}", path.display());
        }
    }
    (paths.len(), clusters_read, objects)
}

#[test]
fn clusters_of_kube_scheduler_are_read_whole() {
    let (files, clusters, objects) = count("kube-scheduler-1.36");
    assert_eq!((files, clusters), (132, 132));
    let want = [
        (Kind::CsiDriver, 14),
        (Kind::CsiNode, 132),
        (Kind::Namespace, 528),
        (Kind::Node, 1_539),
        (Kind::PersistentVolume, 237),
        (Kind::PersistentVolumeClaim, 378),
        (Kind::Pod, 6_546),
        (Kind::PodDisruptionBudget, 144),
        (Kind::ReplicaSet, 809),
        (Kind::Service, 685),
        (Kind::StorageClass, 56),
    ];
    assert_eq!(objects, want.into_iter().collect());
}

#[test]
fn clusters_of_policy_files_are_read_whole() {
    let (files, clusters, objects) = count("policy-1.20");
    assert_eq!((files, clusters), (41, 38));
    let want = [
        (Kind::Namespace, 152),
        (Kind::Node, 475),
        (Kind::Pod, 1_781),
        (Kind::ReplicaSet, 232),
        (Kind::Service, 208),
    ];
    assert_eq!(objects, want.into_iter().collect());
}
