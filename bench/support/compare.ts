/** Runs contenders in turn, round after round, so that a disturbance of the machine affects all of them. */
import { type Checkout, HERE } from './checkout.ts'

/** Measured values by column. */
export type Figures = Readonly<Record<string, number>>

export interface Contender {
  readonly name: string
  measure(): Promise<Figures>
  close?(): Promise<void>
  /** An older release may lack what is measured: then the others are compared without it. */
  readonly isOptional?: boolean
}

interface Limit {
  readonly most?: number
  readonly least?: number
}

export interface Measurement {
  readonly name: string
  readonly about: string
  /** The columns in order, each with its unit. */
  readonly columns: Readonly<Record<string, string>>
  /** Limits for our program, by column. */
  readonly targets?: Readonly<Record<string, Limit>>
  /** Limits for our value divided by that of another contender. */
  readonly ratios?: readonly (Limit & { readonly column: string; readonly to: string })[]
  /** Runs before the contenders start; what it returns runs at the end. */
  setup?(): () => void
  /** The program of a checkout, started and ready. */
  subject(checkout: Checkout): Promise<Contender>
  /** What this checkout is compared with: peers, bare programs, or our program doing other work. */
  references(): AsyncIterable<Contender>
}

export interface Result {
  readonly contender: string
  readonly median: Figures
  readonly rounds: readonly Figures[]
}

/** The first result is that of this checkout. With other checkouts, these are the only other contenders. */
export async function compare(
  measurement: Measurement,
  rounds: number,
  others: readonly Checkout[] = [],
): Promise<Result[]> {
  const measured = new Map<Contender, Figures[]>()
  const tearDown = measurement.setup?.()
  try {
    for await (const contender of listContenders(measurement, others)) measured.set(contender, [])
    for (let round = 1; round <= rounds; round++) {
      // Every other round in reverse, so that no contender profits from its place.
      const order = round % 2 === 1 ? [...measured] : [...measured].reverse()
      for (const [contender, figures] of order) {
        process.stderr.write(`${measurement.name}: round ${round} of ${rounds}, ${contender.name}\n`)
        try {
          figures.push(await contender.measure())
        } catch (error) {
          if (!contender.isOptional) throw error
          reportMissing(measurement, contender.name, error)
          await contender.close?.()
          measured.delete(contender)
        }
      }
    }
  } finally {
    for (const contender of measured.keys()) await contender.close?.()
    tearDown?.()
  }
  const columns = Object.keys(measurement.columns)
  return [...measured].map(([{ name }, figures]) => ({
    contender: name,
    rounds: figures,
    median: Object.fromEntries(
      columns.map((column) => [column, median(figures.map((row) => row[column] ?? Number.NaN))]),
    ),
  }))
}

async function* listContenders(measurement: Measurement, others: readonly Checkout[]): AsyncGenerator<Contender> {
  yield await measurement.subject(HERE)
  if (others.length === 0) yield* measurement.references()
  for (const other of others) {
    try {
      const contender = await measurement.subject(other)
      yield { ...contender, name: `${contender.name} of ${other.name}`, isOptional: true }
    } catch (error) {
      reportMissing(measurement, other.name, error)
    }
  }
}

function reportMissing(measurement: Measurement, name: string, error: unknown): void {
  process.stderr.write(`${measurement.name}: without ${name}, which cannot do it: ${String(error)}\n`)
}

export function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b)
  const middle = Math.floor(sorted.length / 2)
  const upper = sorted[middle] ?? Number.NaN
  return sorted.length % 2 === 1 ? upper : ((sorted[middle - 1] ?? Number.NaN) + upper) / 2
}
