/** A setting: its default, how its text is parsed, and what the docs say about it. */
import { parseBudgets } from './parsers.ts'

export interface Setting<T> {
  readonly default: string
  readonly parse: (text: string) => T
  readonly help: string
  /** Printed as `********`. */
  readonly secret?: true
}

/** By key, which determines the other names: see `environmentName`, `flagName` and `fileName`. */
export type Settings = Readonly<Record<string, Setting<unknown>>>

export function setting<T>(fallback: string, parse: (text: string) => T, help: string, secret?: 'secret'): Setting<T> {
  return { default: fallback, parse, help, ...(secret === undefined ? {} : { secret: true as const }) }
}

export function limit(fallback: string, routes: string) {
  const help = `Rate limits of ${routes} as requests/seconds per address, client and user. Empty: no limit.`
  return setting(fallback, parseBudgets, help)
}
