/** Sends a dump of PostgreSQL now and then, by one node of the installation. */
import { createReadStream } from 'node:fs'
import { mkdir, rm, stat } from 'node:fs/promises'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { createGunzip } from 'node:zlib'
import { takeBackup } from '../../store/backup/backup.ts'
import { type BackupFile, BadBackup, checkSeal, readBackup } from '../../store/backup/manifest.ts'
import { withoutCredentials } from '../../store/database/servers/addresses.ts'
import { withConnection } from '../../store/database/servers/one-connection.ts'
import { type MasterKey, requireMasterKey } from '../../store/keys/master-key.ts'
import { dumpFolder, dumpGeneration, dumpsFolder, parseDumpName } from '../objects/names.ts'
import { BadObject } from '../objects/seal.ts'
import { recordEvent } from '../record-event.ts'
import { describeError, type ReplicationLog } from '../ship/log.ts'
import { takeRequest } from '../spool/requests.ts'
import { SPOOL_FOLDER } from '../spool/state.ts'
import { readStatus, writeStatus } from '../spool/status.ts'
import type { Target } from '../target/target.ts'
import { Dumps, type StoredDump } from './dumps.ts'
import { fetchDump } from './fetch-dump.ts'
import { sendDump } from './send-dump.ts'

export interface DumperOptions {
  readonly dataFolder: string
  readonly databaseUrl: string
  /** Undefined where it is in the data folder. */
  readonly masterKey: Buffer | undefined
  readonly target: Target
  readonly key: Buffer
  readonly fullMs: number
  readonly rate: number
  /** Undefined where nothing is deleted. */
  readonly keepMs: number | undefined
  readonly verifyMs: number
  readonly log: ReplicationLog
}

const CHECK_MS = 5_000
const FAILURE_PAUSE_MS = 60_000
const STATUS_MS = 5_000
/** Of a node that dumps; the others wait for it. */
const ADVISORY_LOCK = 7_203_519_048
/** The first dump is verified after this time. */
const SOON_MS = 3_600_000
const ABANDONED_MS = 24 * 3_600_000

export class Dumper {
  readonly #options: DumperOptions
  readonly #masterKey: MasterKey
  readonly #generation: string
  readonly #dumps: Dumps
  readonly #spool: string
  readonly #began = Date.now()
  #newest: { readonly dump: StoredDump; readonly bytes: number } | undefined
  #verified: { readonly at: number; readonly moment: number } | undefined
  #isDumpWanted = false
  #isVerificationWanted = false
  /** One that failed is repeated after this time. */
  #verifyNotBefore = 0
  #error: string | undefined

  constructor(options: DumperOptions) {
    const { dataFolder, databaseUrl, masterKey, target, key } = options
    this.#options = options
    this.#masterKey = requireMasterKey(dataFolder, masterKey)
    // The same for all nodes, which share the key and the database.
    const id = this.#masterKey.derive(`backups of ${withoutCredentials(databaseUrl)}`)
    this.#generation = dumpGeneration(id.toString('base64url').slice(0, 12))
    this.#dumps = new Dumps(target, key)
    this.#spool = join(dataFolder, SPOOL_FOLDER)
    // The folder may have had SQLite before.
    const status = readStatus(dataFolder)
    if (status?.generation === this.#generation) this.#verified = status.verified
  }

  /** Until the signal ends it. */
  async run(signal: AbortSignal): Promise<void> {
    await mkdir(this.#spool, { recursive: true, mode: 0o700 })
    // Also while a dump is taken, which may be long.
    const interval = setInterval(() => this.#tryStatus(), STATUS_MS)
    await this.#repeat(signal)
    clearInterval(interval)
    this.#tryStatus({ isStopped: true })
  }

  async #repeat(signal: AbortSignal): Promise<void> {
    while (!signal.aborted) {
      try {
        await this.#step(signal)
        this.#error = undefined
      } catch (error) {
        if (signal.aborted) return
        const err = describeError(error)
        this.#error = err.message
        this.#options.log('error', 'PostgreSQL could not be dumped for the backup; trying again', { err })
        this.#tryStatus()
        await sleep(FAILURE_PAUSE_MS, undefined, { signal }).catch(() => {})
        continue
      }
      this.#tryStatus()
      await sleep(CHECK_MS, undefined, { signal }).catch(() => {})
    }
  }

  async #step(signal: AbortSignal): Promise<void> {
    this.#isDumpWanted ||= takeRequest(this.#spool, 'take')
    this.#isVerificationWanted ||= takeRequest(this.#spool, 'verify')
    if (this.#isDue()) {
      // Another node may have sent one.
      await this.#findNewest()
      if (this.#isDue() && (await this.#dumpAlone(signal))) {
        this.#isDumpWanted = false
        await this.#removeOld()
      }
    }
    await this.#verifyIfDue()
  }

  async #verifyIfDue(): Promise<void> {
    const { verifyMs, log } = this.#options
    const [newest, verified] = [this.#newest, this.#verified]
    if (newest === undefined) return
    const due = verified === undefined ? newest.dump.began + Math.min(verifyMs, SOON_MS) : verified.at + verifyMs
    if (!this.#isVerificationWanted && Date.now() < Math.max(due, this.#verifyNotBefore)) return
    this.#isVerificationWanted = false
    this.#verifyNotBefore = Date.now() + SOON_MS
    try {
      await this.#verify(newest.dump)
    } catch (error) {
      log('error', 'the dump could not be read back to check it', { err: describeError(error) })
    }
  }

  #isDue(): boolean {
    return this.#isDumpWanted || Date.now() - (this.#newest?.dump.began ?? 0) >= this.#options.fullMs
  }

  async #findNewest(): Promise<void> {
    const dump = (await this.#dumps.list(this.#generation)).at(-1)
    if (dump === undefined || dump.began === this.#newest?.dump.began) return
    try {
      const { files } = await this.#dumps.manifest(dump)
      this.#newest = { dump, bytes: files.reduce((sum, { bytes }) => sum + bytes, 0) }
    } catch (error) {
      if (!(error instanceof BadObject)) throw error
      // With another backup_key than before it does not count: another dump is taken.
      this.#options.log('warn', 'the last dump at the target cannot be read', { err: describeError(error) })
    }
  }

  /** False if another node does it now. */
  #dumpAlone(signal: AbortSignal): Promise<boolean> {
    const { dataFolder, databaseUrl } = this.#options
    const place = { dataFolder, url: databaseUrl }
    return withConnection(place, { application_name: 'gatehouse backup' }, async (client) => {
      const { rows } = await client.query<{ got: boolean }>('select pg_try_advisory_lock($1) as got', [ADVISORY_LOCK])
      if (rows[0]?.got !== true) return false
      await this.#dump(signal)
      return true
    })
  }

  async #dump(signal: AbortSignal): Promise<void> {
    const { dataFolder, databaseUrl, target, key, rate, log } = this.#options
    const folder = join(this.#spool, 'dump')
    await rm(folder, { recursive: true, force: true })
    const start = Date.now()
    // Also where the clock was set back.
    const began = Math.max(start, (this.#newest?.dump.began ?? 0) + 1)
    try {
      const { files, taken } = await takeBackup({ dataFolder, url: databaseUrl }, folder, this.#masterKey)
      const rows = sumRows(files)
      const named = [...files, { name: 'manifest.json', bytes: (await stat(join(folder, 'manifest.json'))).size }]
      const options = { target, key, generation: this.#generation, began, folder, files: named, rate, signal }
      const bytes = await sendDump({ ...options, taken: Date.parse(taken), rows })
      this.#newest = { dump: { generation: this.#generation, began }, bytes }
      log('info', 'a dump of PostgreSQL is stored', { rows, bytes, seconds: Math.round((Date.now() - start) / 1000) })
      await recordEvent({ dataFolder, url: databaseUrl }, { event: 'backup.taken', details: { rows, bytes } })
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  /** Brings it back into the spool, and compares it with its own manifest, row by row; into a database only an operator can. */
  async #verify(dump: StoredDump): Promise<void> {
    const { dataFolder, databaseUrl, log } = this.#options
    const folder = join(this.#spool, 'verified')
    await rm(folder, { recursive: true, force: true })
    await mkdir(folder, { mode: 0o700 })
    try {
      const { taken } = await fetchDump(this.#dumps, dump, folder)
      const manifest = await readBackup(folder)
      checkSeal(manifest, this.#masterKey, folder)
      for (const { name, rows } of manifest.files)
        if (rows !== undefined && (await countLines(join(folder, name))) !== rows)
          throw new BadBackup(`${name} does not have the ${rows} rows that the dump lists`)
      const [rows, bytes] = [sumRows(manifest.files), manifest.files.reduce((sum, file) => sum + file.bytes, 0)]
      const details = { moment: new Date(taken).toISOString(), rows, bytes }
      await recordEvent({ dataFolder, url: databaseUrl }, { event: 'backup.verified', details })
      this.#verified = { at: Date.now(), moment: taken }
      log('info', 'the dump was read back and checked', details)
    } finally {
      await rm(folder, { recursive: true, force: true })
    }
  }

  /** The newest of those that are too old stays: the moments since need it. */
  async #removeOld(): Promise<void> {
    const { target, keepMs } = this.#options
    if (keepMs === undefined) return
    const dumps = await this.#dumps.list(this.#generation)
    const complete = new Set(dumps.map(({ began }) => began))
    const limit = dumps.findLast(({ began }) => began <= Date.now() - keepMs)?.began ?? 0
    const old = new Map<number, string[]>()
    for await (const name of target.list(dumpsFolder(this.#generation))) {
      const began = parseDumpName(name)
      if (began === undefined) continue
      const isAbandoned = !complete.has(began) && began < Date.now() - ABANDONED_MS
      if (isAbandoned || (complete.has(began) && began < limit)) old.set(began, [...(old.get(began) ?? []), name])
    }
    // The manifest first: without it the parts are no dump.
    for (const [began, names] of old)
      await target.remove(names.toSorted((one) => (one.startsWith(`${dumpFolder(this.#generation, began)}m`) ? -1 : 1)))
  }

  /** Without room on the disk there is no status; that ends nothing. */
  #tryStatus(further: { readonly isStopped?: boolean } = {}): void {
    try {
      this.#writeStatus(further)
    } catch (error) {
      this.#error ??= describeError(error).message
    }
  }

  #writeStatus(further: { readonly isStopped?: boolean }): void {
    const { target, fullMs } = this.#options
    const newest = this.#newest
    const due = (newest?.dump.began ?? this.#began) + fullMs
    const base = newest && { at: newest.dump.began, moment: newest.dump.began, bytes: newest.bytes }
    writeStatus(this.#spool, {
      ...{ at: Date.now(), location: target.location, generation: this.#generation, moment: newest?.dump.began },
      // Between two dumps there is nothing that could be behind.
      behindSince: Date.now() > due + FAILURE_PAUSE_MS ? due : undefined,
      ...{ spoolBytes: 0, base, verified: this.#verified, error: this.#error, interruptedSince: undefined },
      ...further,
    })
  }
}

function sumRows(files: readonly BackupFile[]): number {
  return files.reduce((sum, { rows = 0 }) => sum + rows, 0)
}

async function countLines(path: string): Promise<number> {
  let lines = 0
  for await (const chunk of createReadStream(path).pipe(createGunzip()))
    for (const byte of chunk as Buffer) if (byte === 10) lines++
  return lines
}
