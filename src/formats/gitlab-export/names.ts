/** GitLab's names of the reactions of GitHub and Gitea. All other names are the same on both sides. */
export const EMOJI_BY_REACTION: Readonly<Record<string, string>> = {
  '+1': 'thumbsup',
  '-1': 'thumbsdown',
  laugh: 'smile',
  hooray: 'tada',
}

export const ACCESS_LEVELS = { none: 0, guest: 10, reporter: 20, developer: 30, maintainer: 40 }
