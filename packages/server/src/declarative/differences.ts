/** How two states of an object differ, in words. */

/** `member: before → after` for every changed member. */
export function differences(before: object, after: object): string[] {
  const left = new Map<string, unknown>(Object.entries(before))
  const right = new Map<string, unknown>(Object.entries(after))
  return [...new Set([...left.keys(), ...right.keys()])]
    .filter((name) => !isSameValue(left.get(name), right.get(name)))
    .map((name) => `${name}: ${shown(left.get(name))} → ${shown(right.get(name))}`)
}

export function isSameValue(a: unknown, b: unknown): boolean {
  return canonical(a) === canonical(b)
}

/** JSON with sorted members. */
function canonical(value: unknown): string {
  return (
    JSON.stringify(value, (_name, inner: unknown) =>
      typeof inner === 'object' && inner !== null && !Array.isArray(inner)
        ? Object.fromEntries(Object.entries(inner).sort(([a], [b]) => (a < b ? -1 : 1)))
        : inner,
    ) ?? 'undefined'
  )
}

function shown(value: unknown): string {
  return value === undefined ? 'nothing' : JSON.stringify(value)
}
