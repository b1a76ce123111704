/** Runs contenders in turn, round after round, so that a disturbance of the machine meets them all. */

/** What was measured, by the name of the column; in each column less is better, or more, as the measurement says. */
export type Figures = Readonly<Record<string, number>>

export interface Contender {
  readonly name: string
  measure(): Promise<Figures>
  /** Ends whatever was started for it. */
  close?(): Promise<void>
}

export interface Measurement {
  readonly name: string
  readonly about: string
  /** The columns in their order, each with its unit. */
  readonly columns: Readonly<Record<string, string>>
  /** Limits that ours should keep, by column. */
  readonly targets?: Readonly<Record<string, { readonly most?: number; readonly least?: number }>>
  /** Limits of ours divided by another's, by the other's name. */
  readonly ratios?: readonly {
    readonly column: string
    readonly to: string
    readonly most?: number
    readonly least?: number
  }[]
  /** The first is ours; the ratios of the others are to it. */
  contenders(): Promise<readonly Contender[]>
}

export interface Result {
  readonly contender: string
  readonly median: Figures
  readonly rounds: readonly Figures[]
}

export async function compare(measurement: Measurement, rounds: number): Promise<Result[]> {
  const contenders = await measurement.contenders()
  const measured = new Map<Contender, Figures[]>(contenders.map((contender) => [contender, []]))
  try {
    for (let round = 1; round <= rounds; round++) {
      for (const [contender, figures] of measured) {
        process.stderr.write(`${measurement.name}: round ${round} of ${rounds}, ${contender.name}\n`)
        figures.push(await contender.measure())
      }
    }
  } finally {
    for (const contender of contenders) await contender.close?.()
  }
  return [...measured].map(([{ name }, figures]) => ({
    contender: name,
    rounds: figures,
    median: Object.fromEntries(
      Object.keys(measurement.columns).map((column) => [
        column,
        median(figures.map((row) => row[column] ?? Number.NaN)),
      ]),
    ),
  }))
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}
