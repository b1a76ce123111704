/** Objects whose members may be left out. */

/** Without the members that are undefined, which headers and forms would send as text. */
export function defined<T>(members: Readonly<Record<string, T | undefined>>): Record<string, T> {
  return Object.fromEntries(Object.entries(members).filter(([, value]) => value !== undefined)) as Record<string, T>
}
