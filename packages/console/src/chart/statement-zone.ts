/** The time zone that a statement names. */

const NAMED = [/\bat\s+time\s+zone\s+('(?:[^']*)'|:\w+)/gi, /,\s*('(?:[^']*)'|:\w+)\s*\)/g]

/** The zone by whose clocks a statement counts: `time_bucket('1 day', t, 'America/New_York')`. Undefined if it names none, or several. */
export function findZone(statement: string, parameters: Readonly<Record<string, unknown>> = {}): string | undefined {
  const given = NAMED.flatMap((pattern) => [...statement.matchAll(pattern)].map(([, text = '']) => text))
  const names = given
    .map((text) => (text.startsWith(':') ? String(parameters[text.slice(1)] ?? '') : text.slice(1, -1)))
    .filter((name) => (name === 'UTC' || name.includes('/')) && isZone(name))
  const zones = new Set(
    names.map((name) => new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone),
  )
  return zones.size === 1 ? [...zones][0] : undefined
}

export function isZone(name: string): boolean {
  try {
    return new Intl.DateTimeFormat('en', { timeZone: name }).resolvedOptions().timeZone !== ''
  } catch {
    return false
  }
}
