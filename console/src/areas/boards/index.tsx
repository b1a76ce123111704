/** The area Boards. */
import type { AreaProps } from '../../shell/area.ts'
import { Page } from '../../ui/index.ts'

export default function Boards(_: AreaProps) {
  return <Page title="Boards">{null}</Page>
}
