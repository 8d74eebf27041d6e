(** * Top-k in each chunk, and rounding of what is sent

A vector is cut into chunks: its coordinates are pairs [(j, i)] of a chunk and a place in it. Whatever holds within each
chunk holds of the vector: if a selection keeps back at most the share [c] of the energy of each chunk, it keeps back at
most that share of the whole. So a top set of [k] places in each chunk of [b] keeps back at most [(b - k) / b], and chunks
may also have the shapes that give the ladder.

The values sent may be rounded. If rounding loses at most the share [lost] of the energy sent, and the selection leaves at
most the share [left], then at most [1 - (1 - lost)(1 - left)] of the energy is not sent; both shares may be attained. *)

From mathcomp Require Import all_ssreflect all_algebra.
From mathcomp.algebra_tactics Require Import ring.
From sparsync Require Import tail top_k.

Set Implicit Arguments.
Unset Strict Implicit.
Unset Printing Implicit Defensive.

Import Order.Theory GRing.Theory Num.Theory.
Local Open Scope ring_scope.

Section Chunks.

Variables (R : realFieldType) (J B : finType) (u : J * B -> R).
Implicit Types (S : {set J * B}) (j : J).

Definition chunk j : B -> R := fun i => u (j, i).
Definition within S j : {set B} := [set i | (j, i) \in S].

Lemma energy_of_chunks : energy u = \sum_j energy (chunk j).
Proof. by rewrite /energy /chunk pair_big; apply: eq_bigr => -[]. Qed.

Lemma kept_back_of_chunks S : kept_back u S = \sum_j kept_back (chunk j) (within S j).
Proof.
rewrite /kept_back /chunk pair_big_dep; apply: eq_big => -[j i] //=.
by rewrite inE.
Qed.

Theorem chunks_share S (c : R) :
  (forall j, kept_back (chunk j) (within S j) <= c * energy (chunk j)) -> kept_back u S <= c * energy u.
Proof.
move=> each; rewrite kept_back_of_chunks energy_of_chunks mulr_sumr.
by apply: ler_sum => j _; apply: each.
Qed.

Theorem chunks_contract S k :
  (0 < #|B|)%N -> (forall j, is_top (chunk j) (within S j) /\ #|within S j| = k) ->
  kept_back u S <= classical_share R #|B| k * energy u.
Proof.
by move=> b_gt0 tops; apply: chunks_share => j; have [top <-] := tops j; apply: top_k_contracts.
Qed.

End Chunks.

Section Rounding.

Variables (R : realFieldType) (I : finType) (u w : I -> R) (S : {set I}).

(** [w i] is what a receiver reads of [u i], for [i] in [S]. *)
Definition rounding_error : R := \sum_(i in S) (u i - w i) ^+ 2.
Definition not_sent : R := \sum_i (u i - if i \in S then w i else 0) ^+ 2.
Definition rounded_share (lost left : R) : R := 1 - (1 - lost) * (1 - left).

Lemma not_sentE : not_sent = kept_back u S + rounding_error.
Proof.
rewrite /not_sent (bigID (mem S)) /= addrC; congr (_ + _).
  by apply: eq_bigr => i /negbTE ->; rewrite subr0.
by apply: eq_bigr => i ->.
Qed.

Theorem rounding_contracts (lost left : R) :
  lost <= 1 -> kept_back u S <= left * energy u -> rounding_error <= lost * (\sum_(i in S) u i ^+ 2) ->
  not_sent <= rounded_share lost left * energy u.
Proof.
move=> lost_le1 left_kept few; rewrite not_sentE.
apply: le_trans (ler_add (lexx _) few) _.
have -> : \sum_(i in S) u i ^+ 2 = energy u - kept_back u S by rewrite kept_backE opprB addrC subrK.
have gain : 0 <= (1 - lost) * (left * energy u - kept_back u S) by rewrite mulr_ge0 // subr_ge0.
by rewrite -subr_ge0 /rounded_share; apply: le_trans gain _; rewrite le_eqVlt; apply/orP; left; apply/eqP; ring.
Qed.

(** Values shortened by the share [t] lose [t ^+ 2] of their energy, whatever is sent. *)
Lemma shortened_values (t : R) :
  \sum_(i in S) (u i - (1 - t) * u i) ^+ 2 = t ^+ 2 * (\sum_(i in S) u i ^+ 2).
Proof. by rewrite mulr_sumr; apply: eq_bigr => i _; ring. Qed.

End Rounding.

(** What a chunk sends may be all zeros but for one chunk of equal coordinates, which attains the share. *)
Theorem equal_chunk_attains (R : realFieldType) (J B : finType) (j0 : J) (T : {set B})
    (u : J * B -> R := fun x => (x.1 == j0)%:R) (S : {set J * B} := [set x | x.2 \in T]) :
  (0 < #|B|)%N ->
  (forall j, is_top (chunk u j) (within S j) /\ #|within S j| = #|T|) /\
  kept_back u S = classical_share R #|B| #|T| * energy u.
Proof.
move=> b_gt0; have same j : within S j = T by apply/setP => i; rewrite !inE.
split=> [j | ]; first by rewrite same; split=> // i l _ _; rewrite /chunk.
have one (P : pred B) j : \sum_(i | P i) chunk u j i ^+ 2 = (j == j0)%:R * (#|P|)%:R.
  rewrite (eq_bigr (fun=> (j == j0)%:R)) => [|i _]; last by rewrite /chunk /u /= -natrX; case: (j == j0).
  by rewrite sumr_const -mulr_natr.
have pick (x : R) : \sum_j (j == j0)%:R * x = x.
  by rewrite (bigD1 j0) //= eqxx mul1r big1 ?addr0 // => j /negbTE ->; rewrite mul0r.
rewrite kept_back_of_chunks energy_of_chunks /kept_back /energy.
under eq_bigr do rewrite same one.
under [in RHS]eq_bigr do rewrite one.
rewrite !pick /classical_share /classical_numerator /classical_denominator.
have -> : #|[pred i | i \notin T]| = (#|B| - #|T|)%N by rewrite -(cardC (mem T)) addKn; apply: eq_card.
have -> : #|(xpredT : pred B)| = #|B| by apply: eq_card.
by rewrite divfK // pnatr_eq0 -lt0n.
Qed.
