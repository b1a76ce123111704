/** What a failure means to the user, where the user can do something about it. */
import { BadSetting } from '../config/parsers.ts'
import { CommandError, UsageError } from './errors.ts'

/** The message for a failure that the user can fix; undefined for a bug. */
export function explain(error: unknown): string | undefined {
  if (!(error instanceof Error)) return undefined
  if (error instanceof UsageError || error instanceof CommandError || error instanceof BadSetting) return error.message
  if (EXPECTED.has(error.name)) return error.message
  const code = 'code' in error ? String(error.code) : ''
  const port = 'port' in error ? error.port : undefined
  if (code === 'EADDRINUSE')
    return `Port ${port} is in use: stop the program that listens on it, or choose another port with --port or GATEHOUSE_PORT.`
  if (code === 'EACCES' && port !== undefined)
    return `This user has no permission to listen on port ${port}: choose a port above 1023 with --port or GATEHOUSE_PORT.`
  if (code === 'EADDRNOTAVAIL') return 'This machine does not have the address of --host or GATEHOUSE_HOST.'
  if (code.startsWith('GATEHOUSE_NATS_')) return `${error.message}. Check GATEHOUSE_NATS_URL.`
  const databaseError = DATABASE_ERRORS.get(code)
  if (databaseError !== undefined) return `${databaseError} (${error.message || code}). Check GATEHOUSE_DATABASE_URL.`
  // The library gives these no code.
  if (/^timeout exceeded when trying to connect|^Connection terminated|^timeout expired/.test(error.message))
    return `The database does not answer (${error.message}). Check GATEHOUSE_DATABASE_URL.`
  if (/^The server does not support SSL/.test(error.message) || DATABASE_TLS_ERRORS.has(code))
    return `The database cannot be reached over TLS (${error.message}). Check sslmode and sslrootcert in GATEHOUSE_DATABASE_URL.`
  if (error.message.startsWith('SASL: '))
    return `The database requires a password (${error.message}). Check GATEHOUSE_DATABASE_URL.`
  const fileError = FILE_ERRORS.get(code)
  if (fileError !== undefined && 'path' in error) return `${fileError}: ${'dest' in error ? error.dest : error.path}`
  // A write to a file that is open names no path.
  if (code === 'ENOSPC') return `${fileError}: free some space`
  const sqliteError = SQLITE_ERRORS.find(([prefix]) => code.startsWith(prefix))?.[1]
  if (sqliteError !== undefined) return `${sqliteError} (${error.message}).`
  return undefined
}

/** Errors of the file system by code. */
const FILE_ERRORS: ReadonlyMap<string, string> = new Map([
  ['ENOENT', 'No such file or folder'],
  ['EACCES', 'This user has no permission to read or write'],
  ['EPERM', 'This user has no permission to change'],
  ['EROFS', 'The file system is read-only'],
  ['ENOTDIR', 'Not a folder'],
  ['EEXIST', 'Already exists'],
  ['ENOSPC', 'The disk is full'],
])

/** Why a certificate is not trusted, by the code of Node. Only a connection to the database fails with these codes. */
const DATABASE_TLS_ERRORS: ReadonlySet<string> = new Set([
  'CERT_HAS_EXPIRED',
  'DEPTH_ZERO_SELF_SIGNED_CERT',
  'ERR_TLS_CERT_ALTNAME_INVALID',
  'SELF_SIGNED_CERT_IN_CHAIN',
  'UNABLE_TO_GET_ISSUER_CERT_LOCALLY',
  'UNABLE_TO_VERIFY_LEAF_SIGNATURE',
])

/** Errors of the connection to PostgreSQL, by the code of the socket or by SQLSTATE. */
const DATABASE_ERRORS: ReadonlyMap<string, string> = new Map([
  ['ECONNREFUSED', 'The database refused the connection'],
  ['ENOTFOUND', 'The host of the database is unknown'],
  ['ETIMEDOUT', 'The database does not answer'],
  ['28P01', 'The database rejected the user or the password'],
  ['28000', 'The database does not allow this user to connect'],
  ['3D000', 'The database does not exist'],
  ['42501', 'The database user lacks a required privilege'],
  ['ECONNRESET', 'The database closed the connection'],
  ['EHOSTUNREACH', 'The host of the database cannot be reached'],
  ['ENETUNREACH', 'The host of the database cannot be reached'],
  ['EAI_AGAIN', 'The host name of the database cannot be resolved at the moment'],
  ['25006', 'The database is read-only'],
  ['53300', 'The database has no free connections'],
  ['53100', 'The disk of the database is full'],
  ['57P03', 'The database is starting up or shutting down'],
  ['57P01', 'The database is shutting down'],
])

/** Errors of SQLite by the beginning of their code, which may be extended, as in SQLITE_IOERR_WRITE. */
const SQLITE_ERRORS: readonly (readonly [prefix: string, text: string])[] = [
  ['SQLITE_NOTADB', 'A database in the data folder is damaged: restore the folder from a backup'],
  ['SQLITE_CORRUPT', 'A database in the data folder is damaged: restore the folder from a backup'],
  ['SQLITE_READONLY', 'A database in the data folder is read-only: make its files writable for this user'],
  ['SQLITE_CANTOPEN', 'A database in the data folder cannot be opened: make its files writable for this user'],
  ['SQLITE_PERM', 'A database in the data folder cannot be opened: make its files writable for this user'],
  ['SQLITE_BUSY', 'Another program has locked a database in the data folder for too long: try again'],
  ['SQLITE_FULL', 'The disk of the data folder is full: free some space'],
  ['SQLITE_IOERR', 'The disk of the data folder failed: check its file system'],
]

/** By name, so that their modules are not loaded. */
const EXPECTED: ReadonlySet<string> = new Set([
  'BadDataFolder',
  'SchemaTooNew',
  'MigrationFailed',
  'BadDeclaration',
  'BadBackup',
  'BadObject',
  'NoSuchMoment',
  'TargetFailed',
  'MoveRefused',
  'Refusal',
  'UsernameTaken',
  'WrongMasterKey',
  'UnfitDatabase',
  'BadController',
  'StartRefused',
  'UnfitServer',
  'UnfitNats',
])
