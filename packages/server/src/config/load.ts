/** Reads the settings from the declarative file, the settings file, the environment and the flags, and checks them. */
import { isLoopback, nearest } from 'gatehouse-protocol'
import { type Config, environmentName, fileName, flagName, SETTINGS, type SettingName, settingNames } from './config.ts'
import { BadSetting } from './parsers.ts'
import type { SettingsFile } from './settings-file.ts'

export type Source = 'default' | 'file' | 'settings_file' | 'environment' | 'flag'
export type SettingSources = { readonly [Name in SettingName]: Source }

export interface LoadedConfig {
  readonly config: Config
  readonly sources: SettingSources
  /** The text of each setting before parsing. */
  readonly texts: { readonly [Name in SettingName]: string }
}

export interface ConfigSources {
  readonly file?: Readonly<Record<string, string>>
  readonly settingsFile?: SettingsFile | undefined
  readonly environment?: Readonly<Record<string, string | undefined>>
  readonly flags?: Readonly<Record<string, string>>
}

/** Precedence: flags, environment, settings file, declarative file, defaults. */
export function loadConfig(sources: ConfigSources): LoadedConfig {
  const given = new Map<SettingName, { text: string; source: Source; writtenAs: string }>()
  for (const [name, text] of Object.entries(sources.file ?? {})) take(`settings.${name}`, text, 'file', pathInFile)
  const { path = '', variables = [] } = sources.settingsFile ?? {}
  for (const [name, text] of variables)
    if (isOurs(name))
      take(`${name} in ${path}`, text, 'settings_file', (known) => `${environmentName(known)} in ${path}`)
  for (const [name, text] of Object.entries(sources.environment ?? {}))
    if (isOurs(name) && text !== undefined && !isOfPlatform(name, text))
      take(name, text, 'environment', environmentName)
  for (const [name, text] of Object.entries(sources.flags ?? {})) take(name, text, 'flag', flagName)

  const from: Record<string, Source> = {}
  const texts: Record<string, string> = {}
  for (const name of settingNames()) {
    const { text, source } = given.get(name) ?? { text: SETTINGS[name].default, source: 'default' as const }
    from[name] = source
    texts[name] = text
  }
  // The loop above filled both for every key of SETTINGS.
  const loaded = { sources: from as SettingSources, texts: texts as LoadedConfig['texts'] }
  return { ...loaded, config: parseTexts(loaded.texts, (name) => given.get(name)?.writtenAs) }

  function take(written: string, text: string, source: Source, settingLabel: (name: SettingName) => string): void {
    const name = settingNames().find((candidate) => settingLabel(candidate) === written)
    if (name === undefined) throw unknownSetting(written, settingNames().map(settingLabel))
    given.set(name, { text, source, writtenAs: written })
  }
}

function isOurs(name: string): boolean {
  return name.startsWith('GATEHOUSE_')
}

/**
 * Kubernetes sets environment variables for every Service of the namespace, in the format of Docker links: for a Service named `gatehouse`
 * or `gatehouse-…` their names begin like our settings, and GATEHOUSE_PORT is a URL.
 */
export function isOfPlatform(name: string, text: string): boolean {
  return OF_PLATFORM.test(name) || (/_PORT$/.test(name) && /^(tcp|udp|sctp):\/\//.test(text))
}

const OF_PLATFORM = /_SERVICE_(HOST|PORT(_[A-Z0-9_]+)?)$|_PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?$/

/** The settings from their texts; `writtenAs` is how messages name one, otherwise as in the environment. */
export function parseTexts(
  texts: LoadedConfig['texts'],
  writtenAs: (name: SettingName) => string | undefined = () => undefined,
): Config {
  const config: Record<string, unknown> = {}
  for (const name of settingNames())
    config[name] = parseSetting(name, texts[name], writtenAs(name) ?? environmentName(name))
  // Filled for every key of SETTINGS.
  return Object.freeze(check(config as Config))
}

/** The settings, with some of them taken from others. */
export function withTexts(
  settings: LoadedConfig,
  others: Pick<LoadedConfig, 'texts' | 'sources'>,
  names: readonly SettingName[],
): LoadedConfig {
  const pick = <Value>(from: { readonly [Name in SettingName]: Value }) =>
    Object.fromEntries(names.map((name) => [name, from[name]]))
  const texts = { ...settings.texts, ...pick(others.texts) }
  return { texts, sources: { ...settings.sources, ...pick(others.sources) }, config: parseTexts(texts) }
}

/** The name of a setting in messages about the declarative file. */
function pathInFile(name: SettingName): string {
  return `settings.${fileName(name)}`
}

export function unknownSetting(written: string, known: string[]): BadSetting {
  const near = nearest(written, known)
  return new BadSetting(`Unknown setting ${written}${near === undefined ? '' : `; did you mean ${near}?`}`)
}

function parseSetting(name: SettingName, text: string, writtenAs: string): unknown {
  try {
    return SETTINGS[name].parse(text)
  } catch (error) {
    if (error instanceof BadSetting) throw new BadSetting(`${writtenAs}: ${error.message}`)
    throw error
  }
}

/** Checks that involve several settings. */
function check(config: Config): Config {
  if ((config.tlsCertificate === '') !== (config.tlsKey === '')) {
    throw new BadSetting('GATEHOUSE_TLS_CERTIFICATE and GATEHOUSE_TLS_KEY must be set together')
  }
  if (config.demo && config.wireHost !== '' && !isLoopback(config.wireHost))
    throw new BadSetting(
      `The demonstration data has known passwords and is allowed on loopback only: remove --demo, or --wire-host ${config.wireHost}`,
    )
  if (config.demo && !isLoopback(config.host)) {
    throw new BadSetting(
      `The demonstration data has known passwords and is allowed on loopback only: remove --demo, or listen on 127.0.0.1 instead of ${config.host}`,
    )
  }
  if (config.wireHost !== '' && config.tlsCertificate === '' && !isLoopback(config.wireHost))
    throw new BadSetting(
      `GATEHOUSE_WIRE_HOST: without a TLS certificate, passwords and tokens would cross the network in clear text: set GATEHOUSE_TLS_CERTIFICATE, or listen on 127.0.0.1 instead of ${config.wireHost}`,
    )
  if (config.mailUrl !== undefined && config.mailFrom === undefined)
    throw new BadSetting('GATEHOUSE_MAIL_FROM must be set with GATEHOUSE_MAIL_URL: the sender of all mail')
  if ((config.mailUrl?.user ?? '') === '' && config.mailPassword !== '')
    throw new BadSetting('GATEHOUSE_MAIL_PASSWORD needs the user in GATEHOUSE_MAIL_URL: smtps://user@mail.example.com')
  if ((config.mailUrl?.user ?? '') !== '' && config.mailPassword === '')
    throw new BadSetting('GATEHOUSE_MAIL_PASSWORD must be set for the user in GATEHOUSE_MAIL_URL')
  if (config.backupUrl !== '' && config.backupKey === undefined)
    throw new BadSetting(
      'GATEHOUSE_BACKUP_KEY must be set with GATEHOUSE_BACKUP_URL: 32 bytes in Base64, as from "openssl rand -base64 32"',
    )
  return config
}
