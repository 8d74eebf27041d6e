(** * The residual of a compressor that draws

On a finite probability space, error feedback with a step size [eta] and a compressor that uses draws,

    u t = e t + eta *: g t,   e (t+1) = u t - C (draw t) (u t),   e 0 = 0,

where [E N (v - C (draw t) v) ^ 2 <= (1 - delta) N(v) ^ 2] for every fixed [v], what is drawn is independent of the
corrected gradient that it compresses (so of everything before, [independent_function]), and [E N (g t) ^ 2 <= sigma2]
for gradients that may depend on all that happened. Then in the mean square

    E N (e t) ^ 2 <= eta ^ 2 sigma2 (1 - delta) / (1 - sqrt (1 - delta)) ^ 2
    E N (e t) ^ 2 <= 4 (1 - delta) eta ^ 2 sigma2 / delta ^ 2

for every seminorm [N]; with a memory that decays, [u t = beta *: e t + h t] and [E N (h t) ^ 2 <= change2],

    E N (e t) ^ 2 <= change2 (1 - delta) / (1 - beta sqrt (1 - delta)) ^ 2.

A compressor without draws is an instance; the mean of the residuals of several workers obeys
the same bounds. Hypotheses are about the steps before [t] alone: a finite space has room for finitely many draws. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
From sparsync Require Import tail top_k feedback residual descent euclidean probability.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Definition seminorm (R : realFieldType) (V : lmodType R) (N : V -> R) : Prop :=
  (forall u v, N (u + v) <= N u + N v) /\ forall a u, N (a *: u) = `|a| * N u.

Section Seminorm.

Variables (R : realFieldType) (V : lmodType R) (N : V -> R).
Hypothesis semi : seminorm N.

Lemma seminorm0 : N 0 = 0.
Proof. by have [_ scales] := semi; rewrite -(scale0r 0) scales normr0 mul0r. Qed.

Lemma seminorm_ge0 u : 0 <= N u.
Proof.
have [triangle scales] := semi; have := triangle u (- u).
by rewrite subrr seminorm0 -scaleN1r scales normrN normr1 mul1r -mulr2n pmulrn_lge0.
Qed.

End Seminorm.

Lemma norm_seminorm (R : rcfType) (V : lmodType R) (dot : V -> V -> R) : inner_product dot -> seminorm (norm dot).
Proof.
move=> inner; split=> [u v | a u]; first exact: norm_triangle.
by rewrite /norm squareZ // sqrtrM ?sqr_ge0 // sqrtr_sqr.
Qed.

(** ** A compressor that draws *)
Section Draws.

Variables (R : realFieldType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (N : V -> R) (D : eqType).

Definition contracts_in_mean (C : D -> V -> V) (draw : Omega -> D) (delta : R) : Prop :=
  forall v, expect P (fun o => N (v - C (draw o) v) ^+ 2) <= (1 - delta) * N v ^+ 2.

(** A vector that does not know what is drawn. *)
Lemma contracts_unknowing (C : D -> V -> V) (draw : Omega -> D) (delta : R) (u : Omega -> V) :
  probability P -> contracts_in_mean C draw delta -> independent P draw u ->
  expect P (fun o => N (u o - C (draw o) (u o)) ^+ 2) <= (1 - delta) * expect P (fun o => N (u o) ^+ 2).
Proof.
move=> prob contr indep; rewrite (expect_independent (fun c v => N (v - C c v) ^+ 2) indep) -expectZ.
by apply: ler_expect => // o; apply: contr.
Qed.

End Draws.

Section Residual.

Variables (R : rcfType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (N : V -> R) (D : eqType).
Variables (C : nat -> D -> V -> V) (draw : nat -> Omega -> D) (g e : nat -> Omega -> V) (eta delta sigma2 : R).

Definition corrected (t : nat) (o : Omega) : V := e t o + eta *: g t o.
Definition feeds_back : Prop :=
  (forall o, e 0%N o = 0) /\ forall t o, e t.+1 o = corrected t o - C t (draw t o) (corrected t o).
Definition contracts_before t : Prop := forall s, (s < t)%N -> contracts_in_mean P N (C s) (draw s) delta.
Definition draws_afresh_before t : Prop := forall s, (s < t)%N -> independent P (draw s) (corrected s).
Definition second_moment_before t : Prop := forall s, (s < t)%N -> expect P (fun o => N (g s o) ^+ 2) <= sigma2.

Hypotheses (prob : probability P) (semi : seminorm N).
Hypotheses (delta_gt0 : 0 < delta) (delta_le1 : delta <= 1) (sigma2_ge0 : 0 <= sigma2).

Let residual s : {ffun Omega -> V} := finfun (e s).
Let push s : {ffun Omega -> V} := [ffun o => eta *: g s o].
Let G := Num.sqrt (eta ^+ 2 * sigma2).

Lemma push_square : G ^+ 2 = eta ^+ 2 * sigma2.
Proof. by rewrite sqr_sqrtr // mulr_ge0 ?sqr_ge0. Qed.

Lemma mean_residualE t : mean_norm P N (residual t) ^+ 2 = expect P (fun o => N (e t o) ^+ 2).
Proof. by rewrite mean_norm_square //; apply: eq_expect => o; rewrite ffunE. Qed.

Lemma push_bounded t s : second_moment_before t -> (s < t)%N -> mean_norm P N (push s) <= G.
Proof.
move=> moment st; rewrite ler_wsqrtr // (eq_expect P (Y := fun o => eta ^+ 2 * N (g s o) ^+ 2)) => [|o].
  by rewrite expectZ ler_wpmul2l ?sqr_ge0 //; apply: moment.
by have [_ scales] := semi; rewrite ffunE scales exprMn real_normK ?num_real.
Qed.

Lemma mean_keeps_share t : feeds_back -> contracts_before t -> draws_afresh_before t ->
  keeps_share (mean_norm P N) push residual delta t.
Proof.
move=> [_ e_next] contr fresh s st; rewrite !mean_norm_square //.
have := contracts_unknowing prob (contr s st) (fresh s st).
congr (_ <= _ * _); apply: eq_expect => o; rewrite !ffunE ?e_next //.
Qed.

Lemma residual_starts : feeds_back -> residual 0%N = 0.
Proof. by move=> [e0 _]; apply/ffunP => o; rewrite !ffunE. Qed.

Definition mean_minkowski_bound (delta eta sigma2 : R) : R :=
  eta ^+ 2 * sigma2 * (1 - delta) / (1 - Num.sqrt (1 - delta)) ^+ 2.
Definition mean_young_bound (delta eta sigma2 : R) : R := 4%:R * (1 - delta) * eta ^+ 2 * sigma2 / delta ^+ 2.

Theorem mean_residual_minkowski t :
  feeds_back -> contracts_before t -> draws_afresh_before t -> second_moment_before t ->
  expect P (fun o => N (e t o) ^+ 2) <= mean_minkowski_bound delta eta sigma2.
Proof.
move=> feeds contr fresh moment; have G_ge0 : 0 <= G by apply: sqrtr_ge0.
rewrite -mean_residualE; have triangle := mean_norm_triangle prob (seminorm_ge0 semi) (proj1 semi).
have := residual_minkowski_along (mean_norm0 prob (seminorm0 semi)) (@mean_norm_ge0 _ _ P _ N) triangle
  delta_le1 G_ge0 (fun s => push_bounded moment) delta_gt0 (residual_starts feeds) (mean_keeps_share feeds contr fresh).
by rewrite /minkowski_bound push_square /mean_minkowski_bound [eta ^+ 2 * _ * _]mulrC.
Qed.

Lemma mean_minkowski_le_young : mean_minkowski_bound delta eta sigma2 <= mean_young_bound delta eta sigma2.
Proof.
have := minkowski_le_young delta_le1 (sqrtr_ge0 _ : 0 <= G) delta_gt0.
rewrite /minkowski_bound /young_bound push_square /mean_minkowski_bound /mean_young_bound.
by rewrite [eta ^+ 2 * _ * _]mulrC !mulrA.
Qed.

Theorem mean_residual_bound t :
  feeds_back -> contracts_before t -> draws_afresh_before t -> second_moment_before t ->
  expect P (fun o => N (e t o) ^+ 2) <= mean_young_bound delta eta sigma2.
Proof.
by move=> feeds contr fresh moment; apply: le_trans (mean_residual_minkowski _ _ _ _) mean_minkowski_le_young.
Qed.

End Residual.

(** ** A memory that decays, with a compressor that draws *)
Section Decayed.

Variables (R : rcfType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (N : V -> R) (D : eqType).
Variables (C : nat -> D -> V -> V) (draw : nat -> Omega -> D) (h e : nat -> Omega -> V).
Variables (beta delta change2 : R) (t : nat).

Definition decayed_push (s : nat) (o : Omega) : V := beta *: e s o + h s o.
Definition decayed_feeds_back : Prop :=
  (forall o, e 0%N o = 0) /\ forall s o, e s.+1 o = decayed_push s o - C s (draw s o) (decayed_push s o).
Definition decayed_draws_afresh : Prop := forall s, (s < t)%N -> independent P (draw s) (decayed_push s).
Definition change_energy : Prop := forall s, (s < t)%N -> expect P (fun o => N (h s o) ^+ 2) <= change2.

Hypotheses (prob : probability P) (semi : seminorm N) (delta_gt0 : 0 < delta) (delta_le1 : delta <= 1).
Hypotheses (beta_ge0 : 0 <= beta) (beta_le1 : beta <= 1) (change2_ge0 : 0 <= change2).

(** The run up to step [t], and nothing behind it. *)
Let kept s : {ffun Omega -> V} := if (s <= t)%N then finfun (e s) else 0.
Let changed s : {ffun Omega -> V} := if (s < t)%N then finfun (h s) else 0.
Let G := Num.sqrt change2.

Definition mean_decayed_bound (delta beta change2 : R) : R :=
  change2 * (1 - delta) / (1 - beta * Num.sqrt (1 - delta)) ^+ 2.

Theorem mean_decayed_residual :
  decayed_feeds_back -> contracts_before P N C draw delta t -> decayed_draws_afresh -> change_energy ->
  expect P (fun o => N (e t o) ^+ 2) <= mean_decayed_bound delta beta change2.
Proof.
move=> [e0 e_next] contr fresh few; have [triangle scales] := semi.
have N0 := mean_norm0 prob (seminorm0 semi).
have shrinks (u : {ffun Omega -> V}) : mean_norm P N (beta *: u) <= beta * mean_norm P N u.
  rewrite -[X in X * _](ger0_norm beta_ge0) -sqrtr_sqr -sqrtrM ?sqr_ge0 // ler_wsqrtr // -expectZ.
  by apply: ler_expect => // o; rewrite ffunE scales exprMn real_normK ?num_real.
have bounded s : mean_norm P N (changed s) <= G.
  rewrite /changed; case: ifP => st; last by rewrite N0 sqrtr_ge0.
  rewrite ler_wsqrtr //; apply: le_trans (few s st); apply: ler_expect => // o; rewrite ffunE lexx //.
have keeps : keeps_back (mean_norm P N) changed kept delta beta.
  split=> [|s]; first by rewrite /kept /=; apply/ffunP => o; rewrite !ffunE e0.
  rewrite /kept /changed; case: ltnP => [st | _]; last by rewrite N0 expr0n /= mulr_ge0 ?sqr_ge0 ?subr_ge0.
  rewrite (ltnW st) !mean_norm_square //; have := contracts_unknowing prob (contr s st) (fresh s st).
  by congr (_ <= _ * _); apply: eq_expect => o; rewrite !ffunE ?e_next.
have := decayed_residual N0 (@mean_norm_ge0 _ _ P _ N) (mean_norm_triangle prob (seminorm_ge0 semi) triangle) shrinks
  delta_gt0 delta_le1 beta_ge0 beta_le1 bounded t keeps.
rewrite /kept leqnn mean_norm_square // /decayed_bound sqr_sqrtr // /mean_decayed_bound [change2 * _]mulrC.
by congr (_ <= _); apply: eq_expect => o; rewrite ffunE.
Qed.

End Decayed.

(** ** Nothing drawn *)
Section Sure.

Variables (R : realFieldType) (Omega : finType) (P : Omega -> R) (V : lmodType R) (N : V -> R).
Hypothesis prob : probability P.

(** A compressor that contracts contracts in the mean, and what it does not draw is independent of everything. *)
Theorem sure_compressor (C : V -> V) (delta : R) (u : Omega -> V) :
  (forall v, N (v - C v) ^+ 2 <= (1 - delta) * N v ^+ 2) ->
  contracts_in_mean P N (fun _ : unit => C) (fun=> tt) delta /\ independent P (fun=> tt) u.
Proof.
move=> contr; split=> [v |]; last exact: constant_independent.
by rewrite (expect_const prob).
Qed.

End Sure.

(** With one outcome, and the scalar compressor: all hypotheses of the bound on a memory that decays. *)
Theorem mean_decayed_has_runs (R : rcfType) (delta beta G : R) (t : nat) (P : unit -> R := fun=> 1)
    (N : R^o -> R := fun u => `|u : R|) (draw : nat -> unit -> unit := fun _ _ => tt) :
  0 < delta -> delta <= 1 -> 0 <= beta -> beta <= 1 -> 0 <= G ->
  exists (C : nat -> unit -> R^o -> R^o) (h e : nat -> unit -> R^o),
    [/\ probability P, seminorm N, decayed_feeds_back C draw h e beta
      & [/\ contracts_before P N C draw delta t, decayed_draws_afresh P draw h e beta t
          & change_energy P N h (G ^+ 2) t]].
Proof.
move=> delta_gt0 delta_le1 beta_ge0 beta_le1 G_ge0.
have prob : probability P by split=> [o|]; rewrite ?ler01 // sumr_const card_unit.
have [C [h [e [contr next _ few level]]]] := decayed_attained delta_gt0 delta_le1 beta_le1 G_ge0.
exists (fun _ _ => C), (fun s _ => h s), (fun s _ => e s); split=> //.
- by split=> [u v | a u]; [exact: ler_norm_add | exact: normrM].
- by split=> [o | s o]; [rewrite level expr0 subrr mulr0 | exact: next].
have [contr_mean _] := @sure_compressor R [finType of unit] P [lmodType R of R^o] N prob C delta (fun=> 0) contr.
split=> [s _ | s _ | s _]; [exact: contr_mean | exact: constant_independent |].
rewrite (expect_const prob) /N ler_sqr ?nnegrE ?normr_ge0 //.
Qed.

(** ** Coordinates drawn uniformly

If the [k] coordinates that are sent are drawn uniformly among all sets with [k] of the [d], the mean square of what is
kept back is exactly [(1 - k / d)] times the square of the vector, whatever the vector: of the [C(d, k)] sets
[C(d - 1, k)] leave a given coordinate out. So Rand-k contracts in the mean with [delta = k / d], though no draw of it
contracts every vector, and the bounds on the residual hold for it. *)

Section Sets.

Variables (I : finType) (k : nat).

Lemma sets_without (i : I) : #|[pred S : {set I} | (#|S| == k) && (i \notin S)]| = 'C(#|I|.-1, k).
Proof.
rewrite -(cardsC1 i) -(cards_draws (~: [set i]) k) cardsE; apply: eq_card => S; rewrite !inE andbC; congr (_ && _).
by rewrite subsetC sub1set inE.
Qed.

End Sets.

Definition random_share (R : rcfType) (d k : nat) : R := 1 - k%:R / d%:R.

Lemma share_of_sets (R : rcfType) (d k : nat) :
  (0 < d)%N -> (k <= d)%N -> 'C(d, k)%:R^-1 * 'C(d.-1, k)%:R = random_share R d k.
Proof.
move=> d_gt0 kd; have C_neq0 : 'C(d, k)%:R != 0 :> R by rewrite pnatr_eq0 -lt0n bin_gt0.
have d_neq0 : d%:R != 0 :> R by rewrite pnatr_eq0 -lt0n.
have count : d%:R * 'C(d.-1, k)%:R = (d%:R - k%:R) * 'C(d, k)%:R :> R by rewrite -natrM mul_bin_down natrM natrB.
apply: (mulfI d_neq0); rewrite mulrCA count mulrCA mulVf // mulr1 /random_share.
by rewrite mulrBr mulr1 mulrCA divff // mulr1.
Qed.

Section RandomK.

Variables (R : rcfType) (I : finType) (Omega : finType) (P : Omega -> R).
Local Notation vector := {ffun I -> R^o}.
Local Notation d := #|I|.
Local Notation dot := (@dot R I).

Definition payload_on (S : {set I}) (u : vector) : vector := [ffun i => if i \in S then u i else 0].
Definition drawn_uniformly (k : nat) (draw : Omega -> {set I}) : Prop :=
  forall S, chance P (fun o => draw o == S) = (if #|S| == k then 'C(d, k)%:R^-1 else 0).

Lemma square_payload_on (S : {set I}) (u : vector) : square dot (u - payload_on S u) = kept_back u S.
Proof.
rewrite /square /euclidean.dot /kept_back [RHS]big_mkcond; apply: eq_bigr => i _ /=.
by rewrite !ffunE; case: (i \in S); rewrite /= ?subrr ?mul0r // subr0 expr2.
Qed.

Lemma expect_of_set (draw : Omega -> {set I}) (F : {set I} -> R) :
  expect P (fun o => F (draw o)) = \sum_S chance P (fun o => draw o == S) * F S.
Proof.
rewrite /expect (partition_big draw xpredT) //=; apply: eq_bigr => S _; rewrite /chance mulr_suml.
by apply: eq_bigr => o /eqP ->.
Qed.

Theorem random_k_keeps_back k (draw : Omega -> {set I}) (u : vector) :
  (0 < d)%N -> (k <= d)%N -> drawn_uniformly k draw ->
  expect P (fun o => square dot (u - payload_on (draw o) u)) = random_share R d k * square dot u.
Proof.
move=> d_gt0 kd uniform; rewrite (eq_expect P (Y := fun o => kept_back u (draw o))) => [|o]; last first.
  exact: square_payload_on.
pose kept (S : {set I}) : R := if #|S| == k then kept_back u S else 0.
rewrite (expect_of_set draw (kept_back u)) (eq_bigr (fun S => 'C(d, k)%:R^-1 * kept S)) => [|S _].
  rewrite -mulr_sumr -big_mkcond /kept_back (exchange_big_dep xpredT) //= square_energy /energy !mulr_sumr.
  apply: eq_bigr => i _.
  rewrite sumr_const sets_without -[u i ^+ 2 *+ _]mulr_natl mulrA; congr (_ * _).
  exact: share_of_sets.
by rewrite uniform /kept; case: (#|S| == k); rewrite ?mul0r ?mulr0.
Qed.

(** No set that leaves a coordinate out contracts every vector: the contraction is one of the mean. *)
Theorem no_set_contracts (S : {set I}) :
  (#|S| < d)%N -> exists2 u, 0 < square dot u & square dot (u - payload_on S u) = square dot u.
Proof.
move=> small; have [i out] : exists i, i \notin S.
  by apply/existsP; apply: contraTT small => /existsPn all_in; rewrite -leqNgt -cardsT subset_leq_card //;
    apply/subsetP => i _; rewrite -[_ \in _]negbK.
pose u : vector := [ffun j => (j == i)%:R]; exists u.
  rewrite square_energy /energy (bigD1 i) //= ffunE eqxx expr1n ltr_paddr ?ltr01 //.
  by apply: sumr_ge0 => j _; apply: sqr_ge0.
rewrite square_payload_on square_energy kept_backE big1 ?subr0 // => j jS.
by rewrite ffunE (_ : j == i = false) ?expr0n //; apply: contraTF jS => /eqP ->.
Qed.

(** The hypothesis of the residual's bounds. *)
Theorem random_k_contracts k (draw : Omega -> {set I}) :
  (0 < d)%N -> (k <= d)%N -> drawn_uniformly k draw ->
  contracts_in_mean P (norm dot) payload_on draw (density R I k).
Proof.
move=> d_gt0 kd uniform u; rewrite (norm_square (@dot_inner R I)) -(random_k_keeps_back _ d_gt0 kd uniform).
by rewrite le_eqVlt; apply/orP; left; apply/eqP/eq_expect => o; rewrite (norm_square (@dot_inner R I)).
Qed.

Theorem random_k_residual (draw : nat -> Omega -> {set I}) (g e : nat -> Omega -> vector) (eta sigma2 : R) k t :
  probability P -> (0 < k)%N -> (k <= d)%N -> 0 <= sigma2 ->
  feeds_back (fun=> payload_on) draw g e eta -> (forall s, (s < t)%N -> drawn_uniformly k (draw s)) ->
  draws_afresh_before P draw g e eta t -> second_moment_before P (norm dot) g sigma2 t ->
  expect P (fun o => norm dot (e t o) ^+ 2) <= mean_young_bound (density R I k) eta sigma2.
Proof.
move=> prob k_gt0 kd sigma2_ge0 feeds uniform fresh moment; have d_gt0 := leq_trans k_gt0 kd.
apply: mean_residual_bound prob (norm_seminorm (@dot_inner R I)) _ _ sigma2_ge0 _ feeds _ fresh moment.
- exact: density_gt0.
- exact: density_le1.
by move=> s st; apply: random_k_contracts => //; apply: uniform.
Qed.

End RandomK.
