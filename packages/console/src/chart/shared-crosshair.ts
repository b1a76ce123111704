/** The time at which the crosshair is: the charts of a board show it together. */
import { signal } from '@preact/signals'

export interface SharedCrosshair {
  /** Milliseconds since the epoch. */
  readonly time: number
  /** The chart that the pointer is on. */
  readonly of: object
}

export const sharedCrosshair = signal<SharedCrosshair | undefined>(undefined)
