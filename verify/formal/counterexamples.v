(** * What does not hold

- The published constant [(1 - k / d) ^ 2] under the zero-based line: for every [0 < k < d] some sequence below the line
  loses more; with [d = 2], [k = 1] the squares (2, 1) lose 1/3, not 1/4.
- The mean of local Top-1 selections is no contraction of the mean: with the vectors (1, b) and (- b, - 1) of two
  workers in the plane, [0 <= b < 1], the error is [(b / (1 - b)) ^ 2] times the mean's energy, and that exceeds every
  bound. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import zify.
From mathcomp.algebra_tactics Require Import ring.
From sparsync Require Import tail top_k.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Published.

Variable R : realFieldType.

Definition published_share (d k : nat) : R := (classical_share R d k) ^+ 2.

Lemma published_below_square d k : (0 < k)%N -> (k < d)%N -> published_share d k < square_share R d k.
Proof.
move=> k_gt0 kd; have d_gt0 : (0 < d)%N := leq_ltn_trans (leq0n k) kd.
rewrite /published_share /square_share /classical_share /classical_numerator /classical_denominator.
rewrite /square_numerator /square_denominator exprMn exprVn ltr_pdivl_mulr ?ltr0n ?muln_gt0 ?addn1 ?d_gt0 //.
rewrite mulrAC ltr_pdivr_mulr ?exprn_gt0 ?ltr0n // -!natrX -!natrM ltr_nat; nia.
Qed.

Theorem published_constant_fails d k :
  (0 < k)%N -> (k < d)%N -> ~ bounds_share (linear_weight R d) k d (published_share d k).
Proof.
move=> k_gt0 kd bounds; have d_gt0 : (0 < d)%N := leq_ltn_trans (leq0n k) kd.
have [_ best] := square_best R d_gt0 (ltnW kd).
by have := le_lt_trans (best _ bounds) (published_below_square k_gt0 kd); rewrite ltxx.
Qed.

Definition two_one (i : nat) : R := (2 - i)%:R.

Example two_one_loses_a_third :
  tail two_one 1 2 = 3%:R^-1 * tail two_one 0 2 /\ published_share 2 1 = 4%:R^-1.
Proof.
split; last by rewrite /published_share /classical_share /classical_numerator /classical_denominator subSS subn0; field.
have -> : tail two_one 1 2 = 1 by rewrite /tail /two_one big_nat1.
have -> : tail two_one 0 2 = 3%:R by rewrite /tail /two_one big_ltn // big_nat1 -natrD.
by rewrite mulVf ?pnatr_eq0.
Qed.

End Published.

Section LocalTop.

Variable R : realFieldType.

(** Two workers in the plane, [0 <= b < 1]: (1, b) and (- b, - 1). *)
Definition first_worker (b : R) (i : bool) : R := if i then b else 1.
Definition second_worker (b : R) (i : bool) : R := if i then - 1 else - b.
Definition mean_of_two (u v : bool -> R) (i : bool) : R := (u i + v i) / 2%:R.
Definition selected (u : bool -> R) (S : {set bool}) (i : bool) : R := if i \in S then u i else 0.
Definition top_one (u : bool -> R) (S : {set bool}) : Prop := is_top u S /\ #|S| = 1%N.
Definition error (u v : bool -> R) (S T : {set bool}) : bool -> R :=
  fun i => mean_of_two u v i - mean_of_two (selected u S) (selected v T) i.

Lemma energy_of_two (u : bool -> R) : energy u = u false ^+ 2 + u true ^+ 2.
Proof. by rewrite /energy (bigD1 false) //= (bigD1 true) //= big1 ?addr0 // => -[]. Qed.

Lemma tops b : 0 <= b -> b < 1 -> top_one (first_worker b) [set false] /\ top_one (second_worker b) [set true].
Proof.
move=> b_ge0 b_lt1; rewrite /top_one !cards1.
by split; split=> // -[] -[]; rewrite !inE //= => _ _; rewrite ?normrN normr1 ger0_norm // ltW.
Qed.

Lemma only_tops b S T : 0 <= b -> b < 1 -> top_one (first_worker b) S -> top_one (second_worker b) T ->
  S = [set false] /\ T = [set true].
Proof.
move=> b_ge0 b_lt1 [topS /eqP/cards1P[i S_i]] [topT /eqP/cards1P[j T_j]]; subst S T.
split; [case: i topS | case: j topT] => //.
  by move=> /(_ true false); rewrite !inE /= normr1 ger0_norm // => /(_ isT isT); rewrite leNgt b_lt1.
by move=> /(_ false true); rewrite !inE /= !normrN normr1 ger0_norm // => /(_ isT isT); rewrite leNgt b_lt1.
Qed.

Lemma energy_of_mean b : energy (mean_of_two (first_worker b) (second_worker b)) = (1 - b) ^+ 2 / 2%:R.
Proof. by rewrite energy_of_two /mean_of_two /=; field. Qed.

(** The mean of the payloads is (1/2, - 1/2); the mean itself is only [1 - b] times that. *)
Definition local_ratio (b : R) : R := (b / (1 - b)) ^+ 2.

Theorem mean_of_local_top_ratio b S T :
  0 <= b -> b < 1 -> let u := first_worker b in let v := second_worker b in top_one u S -> top_one v T ->
  energy (error u v S T) = local_ratio b * energy (mean_of_two u v).
Proof.
move=> b_ge0 b_lt1 u v topS topT; have [-> ->] := only_tops b_ge0 b_lt1 topS topT.
rewrite energy_of_mean energy_of_two /error /mean_of_two /selected !inE /= /local_ratio.
by field; rewrite lt0r_neq0 // subr_gt0.
Qed.

Theorem mean_of_local_top_is_no_contraction (bound : R) :
  exists u v S T, [/\ top_one u S, top_one v T, 0 < energy (mean_of_two u v)
                    & bound * energy (mean_of_two u v) < energy (error u v S T)].
Proof.
pose M := 2%:R + `|bound|; pose b := 1 - M^-1.
have M_gt1 : 1 < M by rewrite ltr_paddr ?normr_ge0 ?ltr1n.
have M_gt0 : 0 < M := lt_trans ltr01 M_gt1.
have b_ge0 : 0 <= b by rewrite subr_ge0 invf_le1 // ltW.
have b_lt1 : b < 1 by rewrite ltr_subl_addr ltr_addl invr_gt0.
have [first second] := tops b_ge0 b_lt1.
have mean_gt0 : 0 < energy (mean_of_two (first_worker b) (second_worker b)).
  by rewrite energy_of_mean divr_gt0 ?exprn_gt0 ?subr_gt0 ?ltr0n.
exists (first_worker b), (second_worker b), [set false], [set true]; split=> //.
rewrite (mean_of_local_top_ratio b_ge0 b_lt1 first second) ltr_pmul2r // /local_ratio.
have -> : b / (1 - b) = 1 + `|bound| by rewrite /b subKr invrK mulrBl mulVf ?lt0r_neq0 // /M; ring.
apply: le_lt_trans (ler_norm bound) _; rewrite -subr_gt0.
have -> : (1 + `|bound|) ^+ 2 - `|bound| = 1 + `|bound| + `|bound| ^+ 2 by ring.
by rewrite -addrA ltr_paddr ?addr_ge0 ?exprn_ge0 ?normr_ge0.
Qed.

End LocalTop.
