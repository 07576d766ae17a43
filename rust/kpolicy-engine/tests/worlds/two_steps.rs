//! A decision in two steps, as with extenders: filter, then choose among the nodes that were kept.

use std::sync::Arc;

use kpolicy_engine::api::{KeptNode, Kind, RefusedNode, Still, Verdict};

use crate::run::{Agreed, Run, same};

impl Run<'_> {
    /// With nothing refused and nothing changed it is the decision in one step. Otherwise the choice
    /// is among what was kept and still passes, by the scores of those alone.
    pub(crate) fn two_steps(&mut self, uid: &str, nth: usize, gone: Option<&str>) -> Agreed {
        let uid: Arc<str> = uid.into();
        let whole = self.engine.decide_from_scratch(&uid);
        let sampled = |run: &Self| {
            let profile = run.engine.program().profiles.first();
            profile.is_none_or(|profile| profile.percentage_of_nodes_to_score < 100)
        };
        let filtered = self.engine.filter(&uid, &Still);
        let same_filtered = self.twin.filter(&uid, &Still);
        same("filtering in two engines", &filtered, &same_filtered)?;
        let nth = nth.max(1);
        let is_kept = |position: &usize| nth == 1 || !position.is_multiple_of(nth);
        let (mut kept, mut refused) = (Vec::new(), Vec::new());
        for (position, node) in filtered.feasible.iter().enumerate() {
            let node = Arc::clone(node);
            if is_kept(&position) {
                kept.push(KeptNode { node, score: 0 });
            } else {
                let reason = "the extender minds".to_owned();
                refused.push(RefusedNode { node, reason, is_unresolvable: position % 2 == 0 });
            }
        }
        if let Some(gone) = gone {
            self.remove(Kind::Node, "", gone, "");
        }
        let have = self.engine.choose(&uid, filtered.token, &kept, &refused, &Still);
        let twin = self.twin.choose(&uid, filtered.token, &kept, &refused, &Still);
        same("choosing in two engines", &twin, &have)?;
        if gone.is_none() && refused.is_empty() && !sampled(self) {
            same("two steps are not as one", &have, &whole)?;
        }
        if have.verdict == Verdict::Placed && !kept.iter().any(|kept| kept.node == have.node) {
            return Err(format!("{} was not kept", have.node));
        }
        if have.verdict == Verdict::Stale && gone.is_none() {
            return Err("stale without a change".to_owned());
        }
        let is_refused = !refused.is_empty() && kept.is_empty() && gone.is_none();
        if is_refused && !have.rejected_by.contains(&Arc::from("Extender")) {
            return Err(format!("who refused? {have:?}"));
        }
        self.seen.in_two_steps += 1;
        self.note(&have);
        Ok(())
    }
}
