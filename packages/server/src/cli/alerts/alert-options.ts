/** The options of `gatehouse alert` that set one member each. */
import type { OptionTable } from '../args.ts'

/** By the member that each sets. */
export const ALERT_OPTIONS = {
  '--when': { value: 'CONDITION', help: 'a condition over the columns of the result (default: every row)' },
  '--until': { value: 'CONDITION', help: 'what ends it (default: --when is no longer true)' },
  '--for': { value: 'TIME', help: 'how long --when must hold, such as "10 seconds"' },
  '--keep-firing': { value: 'TIME', help: 'how long the end must hold' },
  '--elapsed': { value: 'TIME', help: 'the least time between deliveries about one key' },
  '--repeat': { value: 'TIME', help: 'send another notice while it fires' },
  '--absent': { value: 'TIME', help: 'fire when no row has matched for so long' },
  '--group': { value: 'TIME', help: 'how long deliveries wait to be one (default "5 seconds")' },
  '--zone': { value: 'ZONE', help: 'the time zone of the hours in which deliveries leave (default UTC)' },
  '--title': { value: 'TEMPLATE', help: 'such as "{{symbol}} {{spread}}"' },
  '--text': { value: 'TEMPLATE', help: 'the text below the title' },
} as const satisfies OptionTable
