/** How many rows an agent of a user may read in a day, on all nodes together. */
import { type Principal, Refusal } from 'gatehouse-protocol'
import { ownerKey } from './expense.ts'

/** A window that slides, whose counts the nodes share. */
export interface RowWindow {
  take(key: string, budget: DayBudget, amount: number): { readonly allowed: boolean; readonly seconds: number }
  add(key: string, budget: DayBudget, amount: number): void
}

interface DayBudget {
  readonly requests: number
  readonly seconds: number
}

const DAY = 86_400

export class RowBudget {
  readonly #window: RowWindow
  readonly #rowsPerDay: () => number

  constructor(window: RowWindow, rowsPerDay: () => number) {
    this.#window = window
    this.#rowsPerDay = rowsPerDay
  }

  /** Throws if no row is left. */
  require(principal: Principal): void {
    const { allowed, seconds } = this.#window.take(nameKey(principal), this.#budget, 0)
    if (allowed) return
    const hours = Math.ceil(seconds / 3600)
    throw new Refusal(
      'mcp.rows',
      429,
      `Agents of a user read at most ${this.#rowsPerDay()} rows in a day: try again in ${hours} h`,
      {
        members: { Hint: 'Ask the person to run the statement in the console' },
      },
    )
  }

  add(principal: Principal, rows: number): void {
    if (rows > 0) this.#window.add(nameKey(principal), this.#budget, rows)
  }

  get #budget(): DayBudget {
    return { requests: this.#rowsPerDay(), seconds: DAY }
  }
}

function nameKey(principal: Principal): string {
  return `mcp rows ${ownerKey(principal)}`
}
