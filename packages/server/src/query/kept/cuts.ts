/** The cuts of a materialized view: groups of a bucket of that column that begin earlier are not evaluated, because rows of its table are gone. */

/** Microseconds since the epoch, by the column of the table; a list of one. */
export function readCuts(text: string | undefined): ReadonlyMap<string, readonly [bigint]> {
  const cuts = new Map<string, readonly [bigint]>()
  if (text === undefined) return cuts
  for (const [column, time] of Object.entries<string>(JSON.parse(text))) cuts.set(column, [BigInt(time)])
  return cuts
}

/** With the cut of one column, which never moves back. */
export function writeCut(text: string | undefined, column: string, cut: bigint): string {
  const cuts = new Map(readCuts(text))
  const [known = cut] = cuts.get(column) ?? []
  cuts.set(column, [known > cut ? known : cut])
  return JSON.stringify(Object.fromEntries([...cuts].map(([name, [time]]) => [name, String(time)])))
}
