/** The panes of a plot: values above, volume below, on one canvas. Each has a part of the height. */
import type uPlot from 'uplot'
import { compactText, numberLabels, numberTicks, type Tick } from './ticks.ts'

/** The part of the height that volume has, and the space above it. */
const VOLUME_SHARE = 0.19
const SPACE_SHARE = 0.05
/** Pixels between two ticks. */
const APART = 38

export class Panes {
  readonly #hasVolume: boolean
  readonly #isLog: boolean
  readonly #fromZero: boolean
  /** The values in view, with some room. */
  #low = 0
  #high = 1
  #mostVolume = 1

  constructor(hasVolume: boolean, isLog: boolean, fromZero: boolean) {
    this.#hasVolume = hasVolume
    this.#isLog = isLog
    this.#fromZero = fromZero
  }

  /** Where the pane of values ends, from the top: 1 without volume. */
  get share(): number {
    return this.#hasVolume ? 1 - VOLUME_SHARE - SPACE_SHARE : 1
  }

  /** Where the pane of volume begins, from the top. */
  get volumeFrom(): number {
    return 1 - VOLUME_SHARE
  }

  /** The range of the scale for values: it reaches below them, down to the end of the canvas. */
  valueRange: uPlot.Scale.Range = (_, min, max) => {
    this.#setValues(min, max)
    const [low, high] = [this.#to(this.#low), this.#to(this.#high)]
    return [this.#from(high - (high - low) / this.share), this.#high]
  }

  volumeRange: uPlot.Scale.Range = (_, __, max) => {
    this.#mostVolume = max === null || max <= 0 ? 1 : max
    return [0, this.#mostVolume / VOLUME_SHARE]
  }

  /** The ticks of both panes, as values of the upper scale. */
  ticks(min: number, max: number, height: number): Tick[] {
    const values = numberTicks(this.#low, this.#high, (height * this.share) / APART, this.#isLog)
    const labels = numberLabels(values)
    const ticks = values.map((at, index) => ({ at, label: labels[index] ?? '' }))
    if (!this.#hasVolume) return ticks
    const volume = numberTicks(0, this.#mostVolume, 2)
      .filter((tick) => tick > 0)
      .slice(-1)
    const [from, to] = [this.#to(min), this.#to(max)]
    const share = (tick: number) => (tick / this.#mostVolume) * VOLUME_SHARE
    return [
      ...volume.map((tick) => ({ at: this.#from(from + (to - from) * share(tick)), label: compactText(tick) })),
      ...ticks,
    ]
  }

  #setValues(min: number | null, max: number | null): void {
    if (min === null || max === null) [this.#low, this.#high] = this.#isLog ? [1, 10] : [0, 1]
    else if (this.#fromZero) [this.#low, this.#high] = [Math.min(0, min * 1.08), Math.max(0, max * 1.08) || 1]
    else if (this.#isLog) [this.#low, this.#high] = [min / (max / min) ** 0.06, max * (max / min) ** 0.06 * 1.0001]
    else {
      const room = (max - min || Math.abs(max) * 0.02 || 1) * 0.08
      ;[this.#low, this.#high] = [min - room, max + room]
    }
  }

  #to(value: number): number {
    return this.#isLog ? Math.log10(value) : value
  }

  #from(value: number): number {
    return this.#isLog ? 10 ** value : value
  }
}
