/** The deliveries of alerts in a restored database: what waited is not sent, by either engine. */

/** Of the query database (query/engines/alert-tables.ts). */
export const DELIVERIES = '_gh_alert_deliveries'

export function dropWaiting(table: string, now: string): string {
  return `update ${table} set state = 'dropped', ended = ${now}, error = 'A backup was restored' where state = 'waiting'`
}
