/** The bound frame of a window. */

/** ROWS | RANGE BETWEEN start AND end; `rows` counts rows before or after the current one. */
export interface BoundFrame {
  readonly unit: 'rows' | 'range'
  readonly start: BoundFrameEdge
  readonly end: BoundFrameEdge
}

export type BoundFrameEdge =
  | { readonly kind: 'unbounded-preceding' | 'current-row' | 'unbounded-following' }
  | { readonly kind: 'preceding' | 'following'; readonly rows: number }
