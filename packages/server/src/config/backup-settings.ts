/** Settings of the replication of the databases. Without `backup_url` nothing is replicated. */
import { fileURLToPath } from 'node:url'
import { BadSetting, parseDays, parseInteger, parseMasterKey, parseSeconds, parseWebAddress } from './parsers.ts'
import { type Settings, setting } from './setting.ts'

export const BACKUP_SETTINGS = {
  backupUrl: setting(
    '',
    parseBackupUrl,
    'Where every commit of the SQLite databases is sent, or dumps of PostgreSQL: s3://bucket/prefix?endpoint=https://s3.example.com&region=eu-central-1 (both can be left out for AWS), or file:///mnt/nas/gate. Empty: nowhere.',
  ),
  backupKey: setting(
    '',
    parseMasterKey,
    'Key that seals what is sent to backup_url, 32 random bytes in Base64, as from "openssl rand -base64 32". Required with backup_url. Keep a copy of it elsewhere: nothing can be restored without it.',
    'secret',
  ),
  backupEvery: setting('1', parseBackupEvery, 'Seconds after which changes are sent to backup_url, from 0.1 to 3600.'),
  backupFull: setting(
    '86400',
    parseBackupFull,
    'Seconds after which all pages of the databases are sent to backup_url again, at least 60: a restore starts with them.',
  ),
  backupRate: setting(
    '33554432',
    parseBackupBytes,
    'Bytes a second at which all pages are sent to backup_url. Changes are not limited by it.',
  ),
  backupSpoolBytes: setting(
    '1073741824',
    parseBackupBytes,
    'Bytes of changes that wait in the data folder while backup_url is away. Beyond this, no changes are kept until it is back; then every page is compared.',
  ),
  backupKeepDays: setting(
    '30',
    parseInteger,
    'Days that can be restored from backup_url, by the hour; the last 7 days by the minute, and the last one by the second. 0: nothing is deleted, so that rules of the bucket can do it.',
  ),
  backupVerifyDays: setting(
    '7',
    parseDays,
    'Days after which what was sent to backup_url is restored into the data folder, checked and removed again. It needs as much space as the databases.',
  ),
} as const satisfies Settings

/** Empty where nothing is replicated. */
export function parseBackupUrl(text: string): string {
  if (text === '') return text
  const url = URL.parse(text)
  if (url?.protocol === 'file:') checkFolder(url)
  else if (url?.protocol === 's3:') checkBucket(url)
  else throw new BadSetting('it must look like s3://bucket/prefix or file:///mnt/nas/gate')
  return text
}

function checkFolder(url: URL): void {
  if (url.host !== '' || url.search !== '' || url.hash !== '' || fileURLToPath(url) === '/')
    throw new BadSetting('it must name a folder only, with three slashes: file:///mnt/nas/gate')
}

function checkBucket(url: URL): void {
  // A URL is shown and logged with the setting.
  if (url.username !== '' || url.password !== '')
    throw new BadSetting('it must not contain credentials: set AWS_ACCESS_KEY_ID and AWS_SECRET_ACCESS_KEY')
  if (!/^[a-z0-9][a-z0-9.-]{1,61}[a-z0-9]$/.test(url.hostname) || url.port !== '' || url.hash !== '')
    throw new BadSetting('it must name a bucket: s3://bucket/prefix')
  const unknown = [...url.searchParams.keys()].find((name) => name !== 'endpoint' && name !== 'region')
  if (unknown !== undefined) throw new BadSetting(`"${unknown}" is neither endpoint nor region`)
  const endpoint = url.searchParams.get('endpoint')
  if (endpoint !== null && (endpoint === '' || parseWebAddress(endpoint) === ''))
    throw new BadSetting('endpoint must look like https://s3.example.com')
}

function parseBackupEvery(text: string): number {
  const every = parseSeconds(text)
  if (every < 100 || every > 3_600_000) throw new BadSetting(`${text} is not from 0.1 to 3600 seconds`)
  return every
}

function parseBackupFull(text: string): number {
  const full = parseSeconds(text)
  if (full < 60_000) throw new BadSetting(`${text} is less than 60 seconds`)
  return full
}

function parseBackupBytes(text: string): number {
  const bytes = parseInteger(text)
  if (bytes < 1024 * 1024) throw new BadSetting(`${text} is less than 1048576`)
  return bytes
}
