/** Settings of alerts. */
import { parseBoolean, parseDays, parseInteger } from './parsers.ts'
import { type Settings, setting } from './setting.ts'

export const ALERT_SETTINGS = {
  alertsPerUser: setting('100', parseInteger, 'Maximum alerts of one user or client.'),
  alerts: setting('20000', parseInteger, 'Maximum alerts of all users.'),
  alertInstances: setting(
    '1000',
    parseInteger,
    'Maximum keys of one alert that are pending or firing. With more, the alert shows an error, and goes on when there are fewer.',
  ),
  alertHistory: setting('30', parseDays, 'Days that the history of alerts and their deliveries are kept.'),
  alertOwnWebhooks: setting(
    'false',
    parseBoolean,
    'Lets the owners of alerts name https addresses of their own as channels. Notices are signed and posted there, by this server.',
  ),
  alertPrivate: setting(
    'false',
    parseBoolean,
    'Allows http, and private and loopback addresses, for the push services of browsers and for the webhooks of owners: for tests, and services of your own.',
  ),
} satisfies Settings
