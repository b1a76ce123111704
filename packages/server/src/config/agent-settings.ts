/** Settings of agents: whether models can read the platform, and what those who act for a user may read. */
import { isRight } from 'gatehouse-protocol'
import { BadSetting, oneOf, parseInteger, parseSeconds } from './parsers.ts'
import { limit, type Settings, setting } from './setting.ts'

export const AGENT_SETTINGS = {
  mcp: setting(
    'auto',
    oneOf(['auto', 'true', 'false']),
    'Serve the Model Context Protocol at /mcp, where assistants read what their users may read. It needs the query service. auto: in the demonstration only.',
  ),
  agentAudit: setting(
    'statement',
    oneOf(['statement', 'digest', 'off']),
    'What the audit log has of the calls of agents: with up to 2,000 characters of the statement, with its SHA-256 digest, or no calls at all.',
  ),
  agentScans: setting(
    'ask',
    oneOf(['ask', 'refuse', 'run']),
    'What happens when an agent wants to run a statement that reads many rows whole, or that takes long: the person is asked where the assistant can ask, it is refused, or it runs.',
  ),
  agentScanRows: setting(
    '1000000',
    parseInteger,
    'Rows of tables that a statement of an agent may read whole without asking. Tables with a row filter do not count.',
  ),
  agentSeconds: setting('10', parseSeconds, 'Seconds that a statement of an agent may run without asking.'),
  agentRowsPerDay: setting(
    '1000000',
    parseInteger,
    'Rows that the agents of one user may read in a day, on all nodes.',
  ),
  limitMcp: limit('address=1200/60 client=6000/60 user=120/60', 'agents'),
  agentScopes: setting(
    'Platform/Market Platform/News',
    parseAgentScopes,
    'Scopes that agents can get, separated by spaces: those of the platform, your own among them, but not Platform/Admin.',
  ),
  agentGrantLifetime: setting(
    '2592000',
    parseSeconds,
    'Seconds after which an agent needs a new consent, however often it is used. It needs one after 14 days without use, too.',
  ),
} as const satisfies Settings

/** Administration and identity are not for models. */
function parseAgentScopes(text: string): readonly string[] {
  const scopes = [...new Set(text.split(/[ ,]+/).filter((name) => name !== ''))]
  if (scopes.length === 0) throw new BadSetting('name at least one scope')
  for (const scope of scopes)
    if (!isRight(scope) || /^(?:identity\/|platform\/admin$)/i.test(scope))
      throw new BadSetting(`${scope} is not for agents: name scopes of the platform without Platform/Admin`)
  return scopes
}
