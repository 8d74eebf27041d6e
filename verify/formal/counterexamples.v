(** * What does not hold

- The published constant [(1 - k / d) ^ 2] under the zero-based line: for every [0 < k < d] some sequence below the line
  loses more; with [d = 2], [k = 1] the squares (2, 1) lose 1/3, not 1/4.
- The mean of local Top-k selections is no contraction of the mean, for no [0 < k < d] and no [n >= 2] workers. Two of
  them hold (2, ..., 2, 1, b, 0, ..., 0) and (- 2, ..., - 2, - b, - 1, 0, ..., 0), with [k - 1] coordinates that cancel
  and [0 <= b < 1], the others zero. However each worker breaks ties, the error is [(b / (1 - b)) ^ 2] times the mean's
  energy, and that exceeds every bound. *)

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

(** A sum of terms that vanish but at two places. *)
Lemma sum_of_two (R : zmodType) (I : finType) (f : I -> R) i j :
  i != j -> (forall l, l != i -> l != j -> f l = 0) -> \sum_l f l = f i + f j.
Proof.
move=> ij zero; rewrite (bigD1 i) // (bigD1 j) 1?eq_sym //= big1 ?addr0 // => l /andP[li lj].
exact: zero.
Qed.

(** A top set is the only one of its size if all inside are larger in magnitude than all outside. *)
Lemma only_top (R : realFieldType) (I : finType) (v : I -> R) (S T : {set I}) :
  (forall i j, i \in T -> j \notin T -> `|v j| < `|v i|) -> is_top v S -> #|S| = #|T| -> S = T.
Proof.
move=> larger topS same; apply/eqP; rewrite eqEcard same leqnn andbT; apply/subsetP=> j jS.
apply/negPn/negP=> jT; have /subsetPn[i iT iS] : ~~ (T \subset S).
  by apply: contra jT => sub; have /eqP -> : T == S by rewrite eqEcard sub same leqnn.
by have := topS _ _ jS iS; rewrite leNgt larger.
Qed.

Section LocalTop.

Variables (R : realFieldType) (n d k : nat).
Implicit Types (u : 'I_n -> 'I_d -> R) (S : 'I_n -> {set 'I_d}) (b : R).

Definition mean_of_workers u (i : 'I_d) : R := (\sum_w u w i) / n%:R.
Definition selected u S (w : 'I_n) (i : 'I_d) : R := if i \in S w then u w i else 0.
Definition error u S : 'I_d -> R := fun i => mean_of_workers u i - mean_of_workers (selected u S) i.
Definition local_tops u S : Prop := forall w, is_top (u w) (S w) /\ #|S w| = k.

Lemma tops u : (k <= d)%N -> local_tops u (fun w => top_k (u w) k).
Proof. by move=> kd w; split; [exact: top_k_is_top | rewrite top_k_card // card_ord]. Qed.

(** The vectors of two workers up to their zeros; all others have zeros alone. *)
Definition opposed_pair b : seq (seq R) :=
  [:: nseq k.-1 2%:R ++ [:: 1; b]; nseq k.-1 (- 2%:R) ++ [:: - b; - 1]].
Definition opposed b (w : 'I_n) (i : 'I_d) : R := nth 0 (nth [::] (opposed_pair b) w) i.

Section Family.

Hypotheses (n_gt1 : (1 < n)%N) (k_gt0 : (0 < k)%N) (kd : (k < d)%N).

Let former : 'I_n := Ordinal (ltnW n_gt1).
Let latter : 'I_n := Ordinal n_gt1.
Let left : 'I_d := Ordinal (leq_ltn_trans (leq_pred k) kd).
Let right : 'I_d := Ordinal kd.

Lemma left_right : left != right.
Proof. by rewrite -val_eqE /=; lia. Qed.

(** The coordinates of a vector of the family, and of their sums. *)
Let values (m x y : R) (i : 'I_d) : R :=
  if (i < k.-1)%N then m else if i == left then x else if i == right then y else 0.

Lemma nth_values (m x y : R) (i : 'I_d) : nth 0 (nseq k.-1 m ++ [:: x; y]) i = values m x y i.
Proof.
rewrite /values nth_cat size_nseq nth_nseq -!val_eqE /=; case: ltnP => // /subnKC <-; rewrite addKn.
by case: (i - k.-1)%N => [|[|j]] /=; rewrite ?nth_nil; do 2?[case: eqP => //= ?]; lia.
Qed.

Lemma opposed_former b i : opposed b former i = values 2%:R 1 b i.
Proof. exact: nth_values. Qed.

Lemma opposed_latter b i : opposed b latter i = values (- 2%:R) (- b) (- 1) i.
Proof. exact: nth_values. Qed.

(** The cancelling coordinates and one of the next two. *)
Let sent (l : 'I_d) : {set 'I_d} := l |: [set i : 'I_d | (i < k.-1)%N].

Lemma card_sent (l : 'I_d) : (k.-1 <= l)%N -> #|sent l| = k.
Proof.
move=> kl; rewrite cardsU1 inE -leqNgt kl -[RHS](prednK k_gt0) add1n; congr _.+1.
rewrite -sum1_card (eq_bigl (fun i : 'I_d => (i < k.-1)%N)) => [|i]; last by rewrite inE.
by rewrite (big_ord_narrow (leq_trans (leq_pred k) (ltnW kd))) sum1_card card_ord.
Qed.

Lemma only_sent (v : 'I_d -> R) (l : 'I_d) (T : {set 'I_d}) :
  (k.-1 <= l)%N -> (forall i : 'I_d, (i < k.-1)%N -> `|v i| = 2%:R) -> `|v l| = 1 ->
  (forall i : 'I_d, (k.-1 <= i)%N -> i != l -> `|v i| < 1) -> is_top v T /\ #|T| = k -> T = sent l.
Proof.
move=> kl twos v_l small [topT cardT]; apply: only_top topT _; last by rewrite cardT card_sent.
move=> i j i_in; rewrite !inE negb_or -leqNgt => /andP[jl kj]; apply: lt_le_trans (small _ kj jl) _.
by move: i_in; rewrite !inE => /orP[/eqP -> | /twos ->]; rewrite ?v_l ?ler1n.
Qed.

Lemma opposed_sends b S : 0 <= b -> b < 1 -> local_tops (opposed b) S -> S former = sent left /\ S latter = sent right.
Proof.
move=> b_ge0 b_lt1 topS; split; apply: (only_sent _ _ _ _ (topS _)) => [|i ik||i ki] //=.
- by rewrite opposed_former /values ik normr_nat.
- by rewrite opposed_former /values ltnn eqxx normr1.
- by rewrite opposed_former /values ltnNge ki => /negbTE ->; case: ifP; rewrite ?normr0 ?ltr01 // ger0_norm.
- exact: leq_pred.
- by rewrite opposed_latter /values ik normrN normr_nat.
- by rewrite opposed_latter /values ltnNge leq_pred eqxx eq_sym (negbTE left_right) normrN normr1.
rewrite opposed_latter /values ltnNge ki /= => /negbTE ->.
by case: ifP; rewrite ?normr0 ?ltr01 // normrN ger0_norm.
Qed.

Lemma energy_of_values (v : 'I_d -> R) (x y : R) : (forall i, v i = values 0 x y i) -> energy v = x ^+ 2 + y ^+ 2.
Proof.
move=> v_i; rewrite /energy (sum_of_two left_right) => [|i /negbTE i1 /negbTE i2]; rewrite !v_i /values.
  by rewrite ltnn eqxx ltnNge leq_pred eq_sym (negbTE left_right) eqxx.
by rewrite i1 i2 if_same expr0n.
Qed.

Lemma mean_of_opposed u i :
  (forall w : 'I_n, (1 < w)%N -> u w i = 0) -> mean_of_workers u i = (u former i + u latter i) / n%:R.
Proof.
move=> idle; rewrite /mean_of_workers (@sum_of_two _ _ _ former latter) // => w.
by rewrite -!val_eqE /= => w0 w1; apply: idle; lia.
Qed.

Lemma idle_workers b (w : 'I_n) i : (1 < w)%N -> opposed b w i = 0.
Proof. by move=> w_gt1; rewrite /opposed [nth [::] _ _]nth_default // nth_nil. Qed.

Lemma energy_of_mean b : energy (mean_of_workers (opposed b)) = 2%:R * ((1 - b) / n%:R) ^+ 2.
Proof.
rewrite (@energy_of_values _ ((1 - b) / n%:R) ((b - 1) / n%:R)) => [|i]; first by ring.
rewrite mean_of_opposed => [|w]; last exact: idle_workers.
rewrite opposed_former opposed_latter /values.
by do !case: ifP => _; rewrite ?subrr ?addr0 ?mul0r.
Qed.

Lemma energy_of_error b S :
  0 <= b -> b < 1 -> local_tops (opposed b) S -> energy (error (opposed b) S) = 2%:R * (b / n%:R) ^+ 2.
Proof.
move=> b_ge0 b_lt1 topS; have [sent1 sent2] := opposed_sends b_ge0 b_lt1 topS.
rewrite (@energy_of_values _ (- b / n%:R) (b / n%:R)) => [|i]; first by ring.
rewrite /error mean_of_opposed => [|w]; last exact: idle_workers.
rewrite mean_of_opposed => [|w w_gt1]; last by rewrite /selected idle_workers // if_same.
rewrite -mulrBl /selected sent1 sent2 !inE opposed_former opposed_latter /values.
have [-> | _] := eqVneq i left; first by rewrite (negbTE left_right) ltnn /=; ring.
have [-> | _] := eqVneq i right; first by rewrite ltnNge leq_pred /=; ring.
by case: ifP => _ /=; ring.
Qed.

End Family.

Definition local_ratio (b : R) : R := (b / (1 - b)) ^+ 2.

Theorem mean_of_local_top_ratio b S :
  (1 < n)%N -> (0 < k)%N -> (k < d)%N -> 0 <= b -> b < 1 -> let u := opposed b in local_tops u S ->
  energy (error u S) = local_ratio b * energy (mean_of_workers u).
Proof.
move=> n_gt1 k_gt0 kd b_ge0 b_lt1 u topS; rewrite energy_of_mean // (energy_of_error _ _ _ _ _ topS) // /local_ratio.
by field; rewrite pnatr_eq0 -lt0n ltnW // lt0r_neq0 // subr_gt0.
Qed.

Theorem mean_of_local_top_is_no_contraction (bound : R) :
  (1 < n)%N -> (0 < k)%N -> (k < d)%N ->
  exists u S, [/\ local_tops u S, 0 < energy (mean_of_workers u)
                & bound * energy (mean_of_workers u) < energy (error u S)].
Proof.
move=> n_gt1 k_gt0 kd; pose M := 2%:R + `|bound|; pose b := 1 - M^-1.
have M_gt1 : 1 < M by rewrite ltr_paddr ?normr_ge0 ?ltr1n.
have M_gt0 : 0 < M := lt_trans ltr01 M_gt1.
have b_ge0 : 0 <= b by rewrite subr_ge0 invf_le1 // ltW.
have b_lt1 : b < 1 by rewrite ltr_subl_addr ltr_addl invr_gt0.
pose u := opposed b; have topS := tops u (ltnW kd).
have mean_gt0 : 0 < energy (mean_of_workers u).
  by rewrite energy_of_mean // mulr_gt0 ?exprn_gt0 ?divr_gt0 ?subr_gt0 ?ltr0n // ltnW.
exists u, (fun w => top_k (u w) k); split=> //.
rewrite (mean_of_local_top_ratio n_gt1 k_gt0 kd b_ge0 b_lt1 topS) ltr_pmul2r // /local_ratio.
have -> : b / (1 - b) = 1 + `|bound| by rewrite /b subKr invrK mulrBl mulVf ?lt0r_neq0 // /M; ring.
apply: le_lt_trans (ler_norm bound) _; rewrite -subr_gt0.
have -> : (1 + `|bound|) ^+ 2 - `|bound| = 1 + `|bound| + `|bound| ^+ 2 by ring.
by rewrite -addrA ltr_paddr ?addr_ge0 ?exprn_ge0 ?normr_ge0.
Qed.

End LocalTop.
