/** The commands about alerts, which are those of their owners. */
import type { OptionTable } from '../args.ts'
import type { Command } from '../command.ts'
import { ALERT_OPTIONS } from './alert-options.ts'

const JSON_OUTPUT: OptionTable = { '--json': { help: 'print the reply as JSON' } }

const OTHERS: OptionTable = {
  '--parameter': { short: 'p', value: 'NAME=VALUE', repeatable: true, help: 'a value for :NAME; repeatable' },
  '--channel': { value: 'CHANNEL', repeatable: true, help: 'where notices go; repeatable' },
  '--active': {
    value: 'TIMES',
    repeatable: true,
    help: 'when deliveries leave, such as "mon,tue 09:30-16:00"; repeatable',
  },
  '--event': { help: 'each key that comes to match is one event: there are no states' },
  '--no-resolved': { help: 'send no notice of the end' },
}

const NOTES = 'ALERT is the name or the id of one of your alerts.'

export function alertCommands(server: OptionTable): readonly Command[] {
  const load = (run: keyof typeof import('./alerts.ts')) => async () => (await import('./alerts.ts'))[run]
  const one = (
    verb: string,
    run: keyof typeof import('./alerts.ts'),
    summary: string,
    more: Partial<Command> = {},
  ) => ({
    name: `alert ${verb}`,
    positionals: ['ALERT'],
    options: { ...JSON_OUTPUT, ...server },
    summary,
    notes: NOTES,
    examples: [`alert ${verb} "Wide spread"`],
    load: load(run),
    ...more,
  })
  return [
    {
      name: 'alert add',
      positionals: ['NAME', 'STATEMENT'],
      options: { ...ALERT_OPTIONS, ...OTHERS, ...JSON_OUTPUT, ...server },
      summary: 'Makes an alert: a live query that tells a channel what begins and ends.',
      notes: 'The alert has the rights of the token that makes it, as long as its owner has them.',
      examples: [
        'alert add "Wide spread" "select symbol, ask - bid as spread from last_quotes" --when "spread > 0.5" --until "spread < 0.3" --channel desk-hook',
      ],
      load: load('addAlert'),
    },
    {
      name: 'alert list',
      options: { ...JSON_OUTPUT, ...server },
      summary: 'Lists your alerts and their states.',
      examples: ['alert list'],
      load: load('listAlerts'),
    },
    one('show', 'showAlert', 'Shows an alert, and the keys that are pending or firing.'),
    {
      name: 'alert set',
      positionals: ['ALERT'],
      options: {
        '--name': { value: 'NAME', help: 'another name' },
        '--statement': { value: 'STATEMENT', help: 'another statement' },
        ...ALERT_OPTIONS,
        ...OTHERS,
        '--default': { value: 'MEMBER', repeatable: true, help: 'return to the default of a member; repeatable' },
        ...JSON_OUTPUT,
        ...server,
      },
      summary: 'Changes an alert; with another statement, condition or time its states begin anew.',
      notes: NOTES,
      examples: ['alert set "Wide spread" --when "spread > 1" --channel desk-hook --channel desk-slack'],
      load: load('setAlert'),
    },
    one('pause', 'pauseAlert', 'Pauses an alert: nothing is evaluated until it is resumed.'),
    one('resume', 'resumeAlert', 'Resumes a paused alert.'),
    one('silence', 'silenceAlert', 'Silences an alert for a while, or ends that.', {
      options: {
        '--for': { value: 'TIME', help: 'how long, such as "2 hours"' },
        '--until': { value: 'INSTANT', help: 'or until when' },
        '--key': { value: 'JSON', help: 'only of this key, such as \'["BHP"]\'' },
        '--end': { help: 'end the silence' },
        ...JSON_OUTPUT,
        ...server,
      },
      examples: ['alert silence "Wide spread" --for "2 hours"', 'alert silence "Wide spread" --end'],
    }),
    {
      name: 'alert webhook',
      positionals: ['URL'],
      options: { ...JSON_OUTPUT, ...server },
      summary: 'Shows the key with which notices to a webhook of yours are signed.',
      notes:
        'An alert has the address as a channel, with --channel URL, where the server allows it (alert_own_webhooks).',
      examples: ['alert webhook https://hooks.example.com/mine'],
      load: load('showWebhook'),
    },
    one('test', 'testAlert', 'Sends a test to each channel of an alert.'),
    one('history', 'showHistory', 'Lists what has happened, newest first.', {
      options: { '--limit': { value: 'COUNT', help: 'how many (default 50)' }, ...JSON_OUTPUT, ...server },
    }),
    one('deliveries', 'showDeliveries', 'Lists the deliveries of an alert, newest first, and what came of them.', {
      options: { '--limit': { value: 'COUNT', help: 'how many (default 50)' }, ...JSON_OUTPUT, ...server },
    }),
    one('retry', 'retryDelivery', 'Tries a delivery again that could not be made for a day.', {
      positionals: ['ALERT', 'DELIVERY'],
      examples: ['alert retry "Wide spread" 8ZkQp1'],
    }),
    one('remove', 'removeAlert', 'Deletes an alert, and what waits to be delivered.', {
      options: { '--yes': { help: 'do not ask' }, ...server },
      examples: ['alert remove "Wide spread" --yes'],
    }),
  ]
}
