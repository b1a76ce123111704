/** Types of lock.js, which also runs on Nodes that cannot run TypeScript. */
interface LockEntry {
  readonly version?: string
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

type LockEntries = Readonly<Record<string, LockEntry>>

export function readLock(root: string): { readonly lockfileVersion: number; readonly packages: LockEntries }
export function neededBy(place: string, packages: LockEntries): ReadonlyMap<string, LockEntry>
