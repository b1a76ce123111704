/** Converts settings to the options of each part of the server. */
import { readFileSync } from 'node:fs'
import { extname } from 'node:path'
import { createSecureContext } from 'node:tls'
import { AGENT_PATH } from 'gatehouse-protocol'
import type { Config } from '../config/config.ts'
import { BadSetting } from '../config/parsers.ts'
import type { GroupBudgets } from '../http/limits/rate-limits.ts'

/** The budgets are by the limit groups that routes name. */
export function rateLimitOptions(config: Config) {
  const budgets = new Map<string, GroupBudgets>([
    ['token', config.limitToken],
    ['pages', config.limitPages],
    ['query', config.limitQuery],
    ['stream', config.limitStream],
    ['feeds', config.limitFeeds],
    ['admin', config.limitAdmin],
    ['scim', config.limitScim],
    ['mcp', config.limitMcp],
  ])
  return { budgets, exempt: config.limitExempt }
}

export function proxyOptions({ trustedProxies, limitExempt: exempt }: Config) {
  return { trustedProxies, exempt }
}

export function connectionBound({ maxConnectionsPerAddress: most, trustedProxies, limitExempt }: Config) {
  return { most, exempt: [...trustedProxies, ...limitExempt] }
}

/** What agents use; undefined where none are served. */
export function agentAccess({ mcp, demo, agentScopes: scopes, agentGrantLifetime: grantMs }: Config, issuer: string) {
  if (mcp === 'false' || (mcp === 'auto' && !demo)) return undefined
  return { resource: `${issuer}${AGENT_PATH}`, scopes, grantMs }
}

export function tokenLifetimes(config: Config) {
  return {
    accessTokenMs: config.accessTokenLifetime,
    refreshMs: config.refreshTokenLifetime,
    idleMs: config.refreshTokenIdle,
    graceMs: config.refreshTokenGrace,
  }
}

export function queryLimits(config: Config) {
  return {
    resultRows: config.queryRows,
    resultBytes: config.queryResultBytes,
    statementBytes: config.queryStatementBytes,
    bodyBytes: config.queryBodyBytes,
    importBytes: config.queryImportBytes,
    milliseconds: config.querySeconds,
    exportMilliseconds: config.queryExportSeconds,
    perUser: config.queryPerUser,
    concurrency: config.queryConcurrency,
    waiting: config.queryWaiting,
    slowMs: config.logSlowQuery ?? Number.POSITIVE_INFINITY,
    stallMs: config.queryStall,
    writeWaitMs: config.queryWriteWait,
    tempBytes: config.queryTempBytes,
    tempBytesPerUser: config.queryTempBytesPerUser,
    columnSegments: config.queryColumns,
    columnPartsBytes: config.queryColumnsPartsBytes,
    columnBytes: config.queryColumnsBytes === 0 ? undefined : config.queryColumnsBytes,
    logMs: config.liveLogTime,
    logChanges: config.liveLogChanges,
  }
}

export function liveLimits(config: Config) {
  return {
    perConnection: config.liveStatementsPerConnection,
    perUser: config.liveStatementsPerUser,
    perNode: config.liveStatements,
    rows: config.liveRows,
    bytes: config.liveBytes,
  }
}

export function feedLimits(config: Config) {
  return {
    publisherRate: config.feedPublisherRate,
    publisherKeys: config.feedPublisherKeys,
    bytes: config.feedBytes,
    eventStreams: config.streamMaxConnectionsPerUser,
    patterns: config.feedPatterns,
  }
}

export function readTls(config: Config): { cert: Buffer; key: Buffer } | undefined {
  if (config.tlsCertificate === '') return undefined
  try {
    const tls = { cert: readFileSync(config.tlsCertificate), key: readFileSync(config.tlsKey) }
    createSecureContext(tls)
    return tls
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new BadSetting(`GATEHOUSE_TLS_CERTIFICATE and GATEHOUSE_TLS_KEY cannot be used: ${reason}`)
  }
}

/** The console streams from the origin of the issuer. */
export function streamSettings(config: Config, issuer: string): Config {
  if (!config.console || config.streamOrigins.length === 0) return config
  return { ...config, streamOrigins: [...config.streamOrigins, new URL(issuer).origin] }
}

/** Read at the start, so that a missing file is found then and not by the first visitor. */
export function readBrand(config: Config) {
  const { brandName: name, brandColour: colour, brandLogo: file, supportContact } = config
  if (file === '') return { name, colour, supportContact, logo: undefined }
  try {
    return { name, colour, supportContact, logo: { content: readFileSync(file), ending: extname(file).toLowerCase() } }
  } catch (error) {
    const reason = error instanceof Error ? error.message : String(error)
    throw new BadSetting(`GATEHOUSE_BRAND_LOGO cannot be read: ${reason}`)
  }
}
