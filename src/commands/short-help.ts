import { type Command, Help, type Option } from 'commander'
import { SETTINGS } from './command-line.ts'

const isShown = ({ helpGroupHeading }: Option): boolean => helpGroupHeading !== SETTINGS

/**
 * For a help that shows a command's own options. The settings, the same for all, have a page of their own; they stay
 * visible to commander, which so can tell what a misspelt one should have been.
 */
export const withoutSettings = {
  groupItems<T extends Command | Option>(
    this: Help,
    all: T[],
    visible: T[],
    groupOf: (item: T) => string,
  ): Map<string, T[]> {
    const groups = Help.prototype.groupItems.call(this, all, visible, groupOf as never)
    groups.delete(SETTINGS)
    return groups as Map<string, T[]>
  },
  longestOptionTermLength(this: Help, command: Command, help: Help): number {
    const widths = help
      .visibleOptions(command)
      .filter(isShown)
      .map((option) => this.displayWidth(help.styleOptionTerm(help.optionTerm(option))))
    return Math.max(0, ...widths)
  },
}
