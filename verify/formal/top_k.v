(** * Top-k is the sorted tail

[u : I -> R] is a vector whose coordinates are indexed by a finite type with [d] elements. A set [S] of coordinates
is a *top set* of [u] if none outside is larger in magnitude than one inside. Then

- the first [k] coordinates in an order of decreasing magnitude form a top set with [k] elements;
- two top sets of one size keep back the same energy: ties do not matter;
- the energy kept back by a top set with [k] elements is the tail of the sorted squares behind [k].

With the tail lemma, a top set with [k] elements keeps back at most

- [(d - k) / d] of the energy; so do the coordinates of magnitude at least [t], if there are [k] of them, and so does
  every top set with more elements, or with every non-zero coordinate;
- [(d - k)(d - k + 1) / (d (d + 1))] if the sorted squares [s] are star-shaped seen from [d]: [s j / (d - j)] falls; in
  particular if they are convex in rank, with a zero after the last one;
- [(d - k)(d - k + 1)(2 (d - k) + 1) / (d (d + 1)(2 d + 1))] if [s j / (d - j) ^ 2] falls; in particular if the sorted
  magnitudes are convex in rank, with a zero after the last one. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp Require Import zify.
From mathcomp.algebra_tactics Require Import ring.
From sparsync Require Import tail.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

(** ** A sequence that is convex in rank up to a zero at [d] lies on falling rays from [d] *)
Section Convex.

Variables (R : realFieldType) (s : nat -> R) (d : nat).

Definition convex_in_rank : Prop := forall i, (i.+2 <= d)%N -> s i.+1 *+ 2 <= s i + s i.+2.

Let drop_at i := s i - s i.+1.

Lemma drops_sum i j : (i <= j)%N -> \sum_(i <= m < j) drop_at m = s i - s j.
Proof.
move=> ij; rewrite -[LHS]opprK -sumrN -opprB; congr (- _).
by rewrite -(telescope_sumr s ij); apply: eq_bigr => m _; rewrite opprB.
Qed.

Lemma drops_fall l m : convex_in_rank -> (l <= m)%N -> (m.+1 <= d)%N -> drop_at m <= drop_at l.
Proof.
move=> convex; elim: m => [|m IH]; first by rewrite leqn0 => /eqP ->.
rewrite leq_eqVlt => /predU1P[-> // | lm] md; apply: le_trans (IH lm (ltnW md)).
by rewrite /drop_at -subr_ge0; have := convex m md; rewrite -subr_ge0; congr (0 <= _); ring.
Qed.

Theorem convex_is_star_shaped i j :
  convex_in_rank -> s d = 0 -> (i <= j)%N -> (j <= d)%N -> s j * (d - i)%:R <= s i * (d - j)%:R.
Proof.
move=> convex s_d ij jd.
have across : (\sum_(j <= m < d) drop_at m) * (j - i)%:R <= (\sum_(i <= l < j) drop_at l) * (d - j)%:R.
  rewrite -!sumr_const_nat !big_distrlr /= exchange_big /=.
  apply: ler_sum_nat => l /andP[il lj]; apply: ler_sum_nat => m /andP[jm md].
  by rewrite !mulr1; apply: drops_fall => //; apply: ltnW (leq_trans lj jm).
move: across; rewrite !drops_sum // s_d subr0 !natrB //; last exact: leq_trans ij jd.
rewrite -subr_ge0 => across; rewrite -subr_ge0; apply: le_trans across _.
by rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
Qed.

End Convex.

Section TopK.

Variables (R : realFieldType) (I : finType) (u : I -> R).
Implicit Types (S T : {set I}) (k : nat).

Let d := #|I|.

Lemma norm_sqr (x : R) : `|x| ^+ 2 = x ^+ 2.
Proof. by rewrite real_normK // num_real. Qed.

Definition energy : R := \sum_i u i ^+ 2.
Definition kept_back S : R := \sum_(i | i \notin S) u i ^+ 2.

Definition is_top S : Prop := forall i j, i \in S -> j \notin S -> `|u j| <= `|u i|.

(** ** Selection by sorting *)

Definition larger : rel I := fun i j => `|u j| <= `|u i|.
Definition ranking : seq I := sort larger (enum I).
Definition top_k k : {set I} := [set i in take k ranking].
Definition sorted_square (j : nat) : R := nth 0 [seq u i ^+ 2 | i <- ranking] j.

Lemma larger_total : total larger.
Proof. by move=> i j; exact: (le_total (`|u j|) (`|u i|)). Qed.

Lemma larger_trans : transitive larger.
Proof. by move=> j i l ij jl; apply: le_trans jl ij. Qed.

Lemma ranking_uniq : uniq ranking.
Proof. by rewrite sort_uniq enum_uniq. Qed.

Lemma mem_ranking i : i \in ranking.
Proof. by rewrite mem_sort mem_enum. Qed.

Lemma size_ranking : size ranking = d.
Proof. by rewrite size_sort -cardE. Qed.

Lemma top_k_card k : (k <= d)%N -> #|top_k k| = k.
Proof.
move=> kd; rewrite cardsE (card_uniqP (take_uniq _ ranking_uniq)).
by rewrite size_takel // size_ranking.
Qed.

Lemma notin_top_k k i : (i \notin top_k k) = (i \in drop k ranking).
Proof.
have := ranking_uniq; have := mem_ranking i.
rewrite -{1 2}[ranking](cat_take_drop k) mem_cat cat_uniq inE => split_mem /and3P[_ disjoint _].
case in_take: (i \in take k ranking) split_mem => //= _; apply/esym/negbTE.
by apply: contra disjoint => in_drop; apply/hasP; exists i.
Qed.

Theorem top_k_is_top k : is_top (top_k k).
Proof.
move=> i j; rewrite notin_top_k inE => i_take j_drop.
have := sort_sorted larger_total (enum I).
rewrite -/ranking -[ranking](cat_take_drop k) (sorted_pairwise larger_trans) pairwise_cat.
by case/and3P => /allrelP across _ _; apply: across.
Qed.

(** ** Ties do not matter *)

Lemma kept_backE S : kept_back S = energy - \sum_(i in S) u i ^+ 2.
Proof. by rewrite /energy (bigID (mem S)) /= addrC addKr. Qed.

Theorem top_sets_agree S T : is_top S -> is_top T -> #|S| = #|T| -> kept_back S = kept_back T.
Proof.
move=> topS topT card_eq; rewrite !kept_backE; congr (_ - _).
rewrite (big_setID T) /= [RHS](big_setID S) /= [T :&: S]setIC; congr (_ + _).
have same_count : #|S :\: T| = #|T :\: S|.
  by apply/eqP; rewrite -(eqn_add2l #|S :&: T|) cardsID setIC cardsID card_eq.
have [none | [j jTS]] := set_0Vmem (T :\: S).
  have none' : S :\: T = set0 by apply/cards0_eq; rewrite same_count none cards0.
  by rewrite none none' !big_set0.
have topped i l : i \in S :\: T -> l \in T :\: S -> u i ^+ 2 = u l ^+ 2.
  rewrite !inE => /andP[iT iS] /andP[lS lT]; rewrite -(norm_sqr (u i)) -(norm_sqr (u l)).
  by congr (_ ^+ 2); apply/le_anti/andP; split; [apply: topT | apply: topS].
have [i iST] : exists i, i \in S :\: T.
  by apply/set0Pn; rewrite -card_gt0 same_count card_gt0; apply/set0Pn; exists j.
rewrite (eq_bigr (fun=> u j ^+ 2)) => [|l lST]; last exact: topped.
rewrite [RHS](eq_bigr (fun=> u j ^+ 2)) => [|l lTS]; last by rewrite -(topped _ _ iST lTS); apply: topped.
by rewrite !sumr_const same_count.
Qed.

(** ** The energy kept back is the tail of the sorted squares *)

Lemma sum_ranking (f : I -> R) (s : seq I) : uniq s -> \sum_(i in s) f i = \sum_(i <- s) f i.
Proof. by move=> s_uniq; rewrite -big_uniq. Qed.

Lemma energy_sorted : energy = tail sorted_square 0 d.
Proof.
rewrite /energy /tail -size_ranking -(size_map (fun i => u i ^+ 2)).
rewrite -(big_nth 0 predT id) big_map.
have same : perm_eq ranking (enum I) by rewrite perm_sort.
by rewrite (perm_big _ same) big_enum.
Qed.

Lemma tail_drop (s : seq R) k : \sum_(x <- drop k s) x = \sum_(k <= i < size s) nth 0 s i.
Proof.
rewrite (big_nth 0) size_drop -[in RHS](add0n k) big_addn; apply: eq_bigr => i _.
by rewrite nth_drop addnC.
Qed.

Theorem top_k_keeps_back_the_tail k : (k <= d)%N -> kept_back (top_k k) = tail sorted_square k d.
Proof.
move=> kd; rewrite /tail -size_ranking -(size_map (fun i => u i ^+ 2)) -tail_drop -map_drop big_map.
rewrite /kept_back (eq_bigl (mem (drop k ranking))) => [|i]; last exact: notin_top_k.
by rewrite sum_ranking // drop_uniq // ranking_uniq.
Qed.

Theorem top_set_keeps_back_the_tail S : is_top S -> kept_back S = tail sorted_square #|S| d.
Proof.
move=> topS; rewrite -top_k_keeps_back_the_tail ?max_card //.
by apply: top_sets_agree => //; [apply: top_k_is_top | rewrite top_k_card // max_card].
Qed.

Lemma sorted_square_ge0 j : 0 <= sorted_square j.
Proof.
rewrite /sorted_square; case: (ltnP j (size ranking)) => [lt|ge]; last by rewrite nth_default // size_map.
by case E: ranking lt => [|i0 s] // lt; rewrite -E (nth_map i0) ?E // sqr_ge0.
Qed.

Lemma sorted_square_falls i j : (i <= j)%N -> (j < d)%N -> sorted_square j <= sorted_square i.
Proof.
move=> ij jd; rewrite /sorted_square.
have jr : (j < size ranking)%N by rewrite size_ranking.
have ir : (i < size ranking)%N := leq_ltn_trans ij jr.
have [i0 _] : exists i0 : I, True by case E: ranking jr => [|i0 s] // _; exists i0.
rewrite !(nth_map i0) // -(norm_sqr (u (nth _ _ j))) -(norm_sqr (u (nth _ _ i))).
rewrite ler_sqr ?nnegrE //.
have := sort_sorted larger_total (enum I); rewrite -/ranking => srt.
by apply: (sorted_leq_nth larger_trans (fun x => lexx `|u x|) i0 srt) => //; rewrite inE.
Qed.

(** ** Contraction *)

Theorem top_k_contracts S :
  (0 < d)%N -> is_top S -> kept_back S <= classical_share R d #|S| * energy.
Proof.
move=> d_gt0 topS; rewrite (top_set_keeps_back_the_tail topS) energy_sorted.
have [bounded _] := classical_best R d_gt0 (max_card (mem S)).
apply: bounded => i j i_lt j_ge j_lt; rewrite /constant_weight !mulr1.
by apply: sorted_square_falls => //; apply: ltnW (leq_trans i_lt j_ge).
Qed.

(** The sorted squares lie, seen from [d], on rays that fall: [s j / w j <= s i / w i] for [i <= j]. *)
Definition star_shaped (w : nat -> R) : Prop :=
  forall i j, (i <= j)%N -> (j < d)%N -> sorted_square j * w i <= sorted_square i * w j.

Lemma star_shaped_falls w k : star_shaped w -> falls_across sorted_square w k d.
Proof. by move=> star i j ik kj jd; apply: star => //; apply: ltnW (leq_trans ik kj). Qed.

Theorem top_k_contracts_square S :
  (0 < d)%N -> is_top S -> star_shaped (linear_weight R d) -> kept_back S <= square_share R d #|S| * energy.
Proof.
move=> d_gt0 topS star; rewrite (top_set_keeps_back_the_tail topS) energy_sorted.
by have [bounded _] := square_best R d_gt0 (max_card (mem S)); apply/bounded/star_shaped_falls.
Qed.

Theorem top_k_contracts_cubic S :
  (0 < d)%N -> is_top S -> star_shaped (square_weight R d) -> kept_back S <= cubic_share R d #|S| * energy.
Proof.
move=> d_gt0 topS star; rewrite (top_set_keeps_back_the_tail topS) energy_sorted.
by have [bounded _] := cubic_best R d_gt0 (max_card (mem S)); apply/bounded/star_shaped_falls.
Qed.

(** Behind the last coordinate both sequences are zero, and convexity up to [d] counts that zero. *)
Lemma sorted_square_end : sorted_square d = 0.
Proof. by rewrite /sorted_square nth_default // size_map size_ranking. Qed.

Corollary top_k_contracts_convex S :
  (0 < d)%N -> is_top S -> convex_in_rank sorted_square d -> kept_back S <= square_share R d #|S| * energy.
Proof.
move=> d_gt0 topS convex; apply: top_k_contracts_square => // i j ij jd.
exact: convex_is_star_shaped convex sorted_square_end ij (ltnW jd).
Qed.

Definition sorted_magnitude (j : nat) : R := nth 0 [seq `|u i| | i <- ranking] j.

Lemma sorted_squareE j : sorted_square j = sorted_magnitude j ^+ 2.
Proof.
rewrite /sorted_square /sorted_magnitude; elim: ranking j => [|i s IH] [|j] //=; rewrite ?expr0n //.
by rewrite norm_sqr.
Qed.

Lemma sorted_magnitude_ge0 j : 0 <= sorted_magnitude j.
Proof. by rewrite /sorted_magnitude; elim: ranking j => [|i s IH] [|j] //=. Qed.

Lemma sorted_magnitude_end : sorted_magnitude d = 0.
Proof. by rewrite /sorted_magnitude nth_default // size_map size_ranking. Qed.

Corollary top_k_contracts_convex_magnitudes S :
  (0 < d)%N -> is_top S -> convex_in_rank sorted_magnitude d -> kept_back S <= cubic_share R d #|S| * energy.
Proof.
move=> d_gt0 topS convex; apply: top_k_contracts_cubic => // i j ij jd.
rewrite !sorted_squareE /square_weight !natrX -!exprMn ler_sqr ?nnegrE ?mulr_ge0 ?ler0n ?sorted_magnitude_ge0 //.
exact: convex_is_star_shaped convex sorted_magnitude_end ij (ltnW jd).
Qed.

(** ** Threshold selectors, and a count in a band *)

Definition above (t : R) : {set I} := [set i | t <= `|u i|].

Theorem above_is_top t : is_top (above t).
Proof. by move=> i j; rewrite !inE -ltNge => ti jt; apply/ltW/(lt_le_trans jt ti). Qed.

Theorem threshold_selector_is_top_m t : kept_back (above t) = kept_back (top_k #|above t|).
Proof.
apply: top_sets_agree; [exact: above_is_top | exact: top_k_is_top | by rewrite top_k_card // max_card].
Qed.

Theorem threshold_contracts t : (0 < d)%N -> kept_back (above t) <= classical_share R d #|above t| * energy.
Proof. by move=> d_gt0; apply: top_k_contracts => //; apply: above_is_top. Qed.

End TopK.

(** The least count in the band of [gaussian_k]: [2k/3], rounded up. *)
Definition band_least (k : nat) : nat := (2 * k + 2) %/ 3.

Lemma band_leastP k m : (band_least k <= m)%N = (2 * k <= 3 * m)%N.
Proof. by rewrite /band_least; lia. Qed.

Theorem band_contracts (R : realFieldType) (I : finType) (u : I -> R) (S : {set I}) k :
  (0 < #|I|)%N -> is_top u S -> (band_least k <= #|S|)%N \/ (forall i, i \notin S -> u i = 0) ->
  kept_back u S <= classical_share R #|I| (band_least k) * energy u.
Proof.
have energy_ge0 : 0 <= energy u by apply: sumr_ge0 => i _; apply: sqr_ge0.
move=> d_gt0 topS [band | all_sent]; last first.
  rewrite /kept_back big1 => [|i /all_sent ->]; last by rewrite expr0n.
  by rewrite !mulr_ge0 ?invr_ge0 ?ler0n.
apply: le_trans (top_k_contracts d_gt0 topS) _; apply: ler_wpmul2r => //.
by rewrite ler_wpmul2r ?invr_ge0 ?ler0n // ler_nat leq_sub2l.
Qed.
