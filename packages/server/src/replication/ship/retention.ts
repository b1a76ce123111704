/** Deletes what is too old: segments that are merged, bases, and what belongs to generations before. */
import {
  basesFolder,
  headName,
  manifestName,
  parseBaseName,
  partName,
  segmentFolder,
  segmentName,
} from '../objects/names.ts'
import type { SpoolState } from '../spool/state.ts'
import type { Target } from '../target/target.ts'

export interface RetentionOptions {
  readonly state: SpoolState
  readonly target: Target
  readonly generation: string
  readonly keepMs: number
  /** How long segments of the levels below are kept. */
  readonly ages: readonly [seconds: number, minutes: number]
  readonly signal: AbortSignal
}

const AT_ONCE = 500

export async function removeOld(options: RetentionOptions): Promise<void> {
  const { state, keepMs, ages } = options
  const { stored } = state
  const now = Date.now()
  await removeSegments(options, 0, now - ages[0], stored.end(1))
  await removeSegments(options, 1, now - ages[1], stored.end(2))
  // The moments since this time need the last base before it.
  const bases = stored.bases()
  const oldest = bases.findLast(({ moment }) => moment <= now - keepMs)
  if (oldest !== undefined) {
    for (const base of bases.slice(0, bases.indexOf(oldest))) await removeBase(options, base)
    for (const level of [0, 1, 2] as const) await removeSegments(options, level, now, oldest.from)
  }
  for (const { generation, until } of state.generations())
    if (until < now - keepMs) await removeGeneration(options, generation)
}

async function removeSegments(
  { state, target, generation, signal }: RetentionOptions,
  level: 0 | 1 | 2,
  before: number,
  upTo: number,
): Promise<void> {
  for (;;) {
    signal.throwIfAborted()
    const old = state.stored.old(level, before, upTo, AT_ONCE)
    await target.remove(old.map((range) => segmentName(generation, range)))
    for (const range of old) state.stored.remove(range)
    if (old.length < AT_ONCE) return
  }
}

/** The manifest first: without it the parts are no base. */
async function removeBase(
  { state, target, generation }: RetentionOptions,
  base: ReturnType<SpoolState['stored']['bases']>[number],
): Promise<void> {
  await target.remove([manifestName(generation, base)])
  await target.remove(Array.from({ length: base.parts }, (_, part) => partName(generation, base, part)))
  state.stored.removeBase(base)
}

/** Its head is the last: what is left of an interrupted removal is removed the next time. */
async function removeGeneration({ state, target, signal }: RetentionOptions, generation: string): Promise<void> {
  for (const folder of [
    basesFolder(generation),
    ...([0, 1, 2] as const).map((level) => segmentFolder(generation, level)),
  ])
    for (;;) {
      signal.throwIfAborted()
      const names = await takeSome(target, folder)
      await target.remove(names)
      if (names.length < AT_ONCE) break
    }
  await target.remove([headName(generation)])
  state.forgetGeneration(generation)
}

async function takeSome(target: Target, folder: string): Promise<readonly string[]> {
  const names: string[] = []
  for await (const name of target.list(folder)) if (names.push(name) >= AT_ONCE) break
  return names
}

/** A base is taken within this time. */
const LONGEST_BASE_MS = 24 * 3_600_000

/** The parts of bases that were interrupted. */
export async function removeAbandonedParts({ state, target, generation, signal }: RetentionOptions): Promise<void> {
  const complete = new Set(state.stored.bases().map(({ began }) => began))
  const abandoned: string[] = []
  for await (const name of target.list(basesFolder(generation))) {
    signal.throwIfAborted()
    const base = parseBaseName(name)
    if (base !== undefined && !complete.has(base.began) && base.began < Date.now() - LONGEST_BASE_MS)
      abandoned.push(name)
  }
  await target.remove(abandoned)
}
