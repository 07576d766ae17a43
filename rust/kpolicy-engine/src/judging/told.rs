//! Every filter that rejects a node, in its own words. What the words are for all nodes alike is
//! worked out once.

use std::sync::Arc;

use rustc_hash::FxHashMap;

use crate::rules::{Code, PreparedFilter, Status};
use crate::snapshot::{Cluster, NodeView};

use super::{NodeRejection, PreparedFilters};

/// What codes mean that say the same of every node.
#[derive(Debug, Default)]
pub(crate) struct Told {
    by_code: FxHashMap<(usize, Code), Arc<Status>>,
}

impl Told {
    pub(crate) fn all_rejections(
        &mut self,
        prepared: &PreparedFilters<'_>,
        node: NodeView<'_>,
        cluster: &Cluster,
    ) -> Vec<NodeRejection> {
        let rejects = |(filter, rule): (usize, Option<&dyn PreparedFilter>)| {
            let rule = rule?;
            let code = rule.check(cluster, node);
            (!code.passes()).then(|| {
                let described = || Arc::new(rule.describe(cluster, node, code));
                let status = match rule.describes_code(code) {
                    true => self.by_code.entry((filter, code)).or_insert_with(described).clone(),
                    false => described(),
                };
                NodeRejection { slot: node.slot, filter, code, status: Some(status) }
            })
        };
        prepared.iter().copied().enumerate().filter_map(rejects).collect()
    }
}
