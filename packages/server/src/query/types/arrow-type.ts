/** The types of Arrow (Schema.fbs) that can be columns of a table or of a result. */

export type ArrowType =
  | { readonly kind: 'null' }
  | { readonly kind: 'int'; readonly bits: 8 | 16 | 32 | 64; readonly isSigned: boolean }
  | { readonly kind: 'float'; readonly bits: 16 | 32 | 64 }
  | { readonly kind: 'bool' }
  /** `width`: the bytes of an offset, or that there are views. */
  | { readonly kind: 'utf8' | 'binary'; readonly width: 4 | 8 | 'view' }
  | { readonly kind: 'fixed'; readonly length: number }
  | { readonly kind: 'decimal'; readonly precision: number; readonly scale: number; readonly bits: 32 | 64 | 128 | 256 }
  | { readonly kind: 'date'; readonly unit: 'day' | 'ms' }
  | { readonly kind: 'time'; readonly bits: 32 | 64; readonly unit: TimeUnit }
  /** `isLocal`: without a time zone. */
  | { readonly kind: 'timestamp'; readonly unit: TimeUnit; readonly isLocal: boolean }

/** Of results only: months, days and nanoseconds; microseconds. */
export type ArrowResultType = ArrowType | { readonly kind: 'interval' | 'duration' }

/** How many of the unit a second has. */
export type TimeUnit = 1n | 1000n | 1_000_000n | 1_000_000_000n
export const TIME_UNITS: readonly TimeUnit[] = [1n, 1000n, 1_000_000n, 1_000_000_000n]
