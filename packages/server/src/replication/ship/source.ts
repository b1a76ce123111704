/** The databases of a data folder, and what has changed in them: from their logs, and after a gap by comparing every page. */
import { join } from 'node:path'
import { FollowedDatabase } from '../log/followed-database.ts'
import { type PageHash, type PageSum, PageSums } from '../log/page-sums.ts'
import { DATABASES, type DatabaseState } from '../objects/segment.ts'
import { Changes } from './changes.ts'

/** Read for a base in one look, and what may be in memory before it becomes a segment. */
const BYTES_AT_ONCE = 16 * 1024 * 1024
/** A longer log is made to restart. */
const MAX_LOG_BYTES = 32 * 1024 * 1024
/** So often is looked for a moment at which nothing is committed; it takes some microseconds each. */
const TRIES = 1_000

export interface TrackedDatabase {
  readonly followed: FollowedDatabase
  readonly sums: PageSums
  /** The page to be compared next; undefined if all are known. */
  next: number | undefined
}

export interface SourceOptions {
  readonly dataFolder: string
  /** The spool has room for several segments. */
  readonly spoolBytes: number
  readonly hash: PageHash
  /** Everything before this time was sent. */
  readonly since: number
  /** What the copy has, when a database is opened. */
  loadSums(database: string, sums: PageSums): void
  /** There is no more memory for changes: they become a segment, or are dropped. */
  onFull(): void
  /** What was committed since the last look is not known. */
  onGap(): void
}

export class Source {
  readonly changes = new Changes()
  readonly #options: SourceOptions
  /** Of the changes that become a segment, and of the pages that are compared in one look. */
  readonly #mostBytes: number
  readonly #tracked = new Map<string, TrackedDatabase>()
  /** Commits are not kept until the pages are compared. */
  #isDropping = false
  /** Of the generation. */
  #hash: PageHash
  /** Of the last look. */
  #moment: number
  /** Whether it saw every database as of one moment: one that recovers its log cannot be read. */
  #sawAll = false

  constructor(options: SourceOptions) {
    this.#options = options
    this.#hash = options.hash
    this.#moment = options.since
    this.#mostBytes = Math.min(BYTES_AT_ONCE, options.spoolBytes / 4)
  }

  get databases(): readonly TrackedDatabase[] {
    return [...this.#tracked.values()]
  }

  /** Everything that was committed before this time is in the changes, or was sent; in a look that is complete, nothing later is. */
  get moment(): number {
    return this.#moment
  }

  /** Whether the copy, with the changes, is the state of one moment. */
  get isComplete(): boolean {
    return this.#sawAll && !this.#isDropping && this.databases.every(({ next }) => next === undefined)
  }

  get isDropping(): boolean {
    return this.#isDropping
  }

  /** Reads what was committed since the last look. `during` may read pages, as of this look. */
  look(during: (database: TrackedDatabase) => void = () => {}): void {
    this.#open()
    const began = Date.now()
    const begun = this.databases.filter(({ followed }) => followed.begin())
    const moment = begun.length === this.#tracked.size ? findMoment(begun) : undefined
    this.#sawAll = moment !== undefined
    // Also where the clock is set back.
    this.#moment = Math.max(this.#moment, moment ?? began)
    try {
      for (const database of begun) {
        this.#readCommits(database)
        during(database)
      }
    } finally {
      for (const { followed } of begun) followed.end()
    }
  }

  sum(page: Buffer): PageSum {
    return this.#hash.sum(page)
  }

  /** Compares some pages; false if there are none to compare, or the copy cannot be sent now. */
  compare(): boolean {
    const database = this.databases.find(({ next }) => next !== undefined)
    if (database === undefined || this.#isDropping) return false
    this.look((looked) => {
      if (looked === database) this.#compareSome(database)
    })
    return true
  }

  /** Reads pages as of now, for a base. Undefined if it must be tried again. */
  readPages(database: TrackedDatabase, first: number): Buffer | undefined {
    let bytes: Buffer | undefined
    this.look((looked) => {
      if (looked !== database) return
      const { followed } = database
      const count = Math.min(followed.pages - first + 1, Math.floor(BYTES_AT_ONCE / followed.pageSize))
      bytes = count <= 0 ? Buffer.alloc(0) : followed.readPages(first, count)
    })
    return bytes
  }

  /** A page that the copy may not have. True if it differs from what the copy has. */
  notePage({ followed, sums }: TrackedDatabase, page: number, content: Buffer): boolean {
    const sum = this.#hash.sum(content)
    if (sums.has(page, sum)) return false
    sums.set(page, sum)
    this.changes.add(followed.name, page, content)
    if (this.changes.bytes >= this.#mostBytes) this.#options.onFull()
    return true
  }

  /** There is no room for the changes: what comes is not kept, and once there is room, every page is compared. */
  drop(): void {
    this.#isDropping = true
    this.#forgetChanges()
  }

  /** There is room again. */
  resume(): void {
    this.#isDropping = false
    for (const database of this.databases) database.next = 1
  }

  /** For a new generation, whose times begin anew too. */
  begin(hash: PageHash): void {
    this.#hash = hash
    this.#moment = 0
    this.forget()
  }

  /** Nothing is known of what the copy has: the first base sends every page. */
  forget(): void {
    this.#isDropping = false
    this.changes.clear()
    for (const database of this.databases) {
      database.sums.resize(database.followed.pages)
      database.sums.forgetAll()
      database.next = undefined
    }
  }

  /** The state of each database, with the sum of all its pages if it is that of a moment. */
  describe(isComplete: boolean): readonly DatabaseState[] {
    return this.databases.map(({ followed: { name, pageSize }, sums }) => {
      const { pages, digest } = sums
      const least = Math.min(this.changes.least(name) ?? pages, pages)
      return { name, pageSize, pages, least, ...(digest !== undefined && isComplete && { digest }) }
    })
  }

  /** Logs restart by themselves while little is written. */
  restartLongLogs(): void {
    for (const database of this.databases)
      if (database.followed.logBytes > MAX_LOG_BYTES) database.followed.restartLog(() => this.look())
  }

  close(): void {
    for (const { followed } of this.databases) followed.close()
    this.#tracked.clear()
  }

  #open(): void {
    for (const name of DATABASES) {
      if (this.#tracked.has(name)) continue
      const followed = FollowedDatabase.open(join(this.#options.dataFolder, name))
      if (followed === undefined) continue
      const sums = new PageSums()
      this.#options.loadSums(name, sums)
      this.#tracked.set(name, { followed, sums, next: undefined })
    }
  }

  #readCommits(database: TrackedDatabase): void {
    const { followed, sums } = database
    const isKnown = followed.readCommits({
      page: (page, content) => {
        if (!this.#isDropping) this.notePage(database, page, content)
      },
      commit: (pages) => {
        if (!this.#isDropping) this.#resize(followed.name, sums, pages)
      },
    })
    if (isKnown) return
    database.next = 1
    this.#options.onGap()
  }

  #compareSome(database: TrackedDatabase): void {
    const { followed, sums, next = 1 } = database
    this.#resize(followed.name, sums, followed.pages)
    const count = Math.min(followed.pages - next + 1, Math.ceil(this.#mostBytes / followed.pageSize))
    const bytes = count <= 0 ? Buffer.alloc(0) : followed.readPages(next, count)
    if (bytes === undefined) return
    const { pageSize } = followed
    for (let index = 0; index < count && !this.#isDropping; index++)
      this.notePage(database, next + index, bytes.subarray(index * pageSize, (index + 1) * pageSize))
    database.next = next + count > followed.pages ? undefined : next + count
  }

  #resize(name: string, sums: PageSums, pages: number): void {
    if (pages === sums.pages) return
    if (pages < sums.pages) this.changes.shrink(name, pages)
    else this.changes.touch()
    sums.resize(pages)
  }

  #forgetChanges(): void {
    for (const { followed, sums } of this.databases)
      for (const page of this.changes.pages.get(followed.name)?.keys() ?? []) sums.forget(page)
    this.changes.drop()
  }
}

/**
 * A time at which every database was as it is read: none had a commit since it was looked at before that time, until it was compared after it.
 * What was committed meanwhile is part of the look, and they are compared again.
 */
function findMoment(databases: readonly TrackedDatabase[]): number | undefined {
  for (let tries = 0; tries < TRIES; tries++) {
    const now = Date.now()
    const moved = databases.filter(({ followed }) => !followed.isStill())
    if (moved.length === 0) return now
  }
  return undefined
}
