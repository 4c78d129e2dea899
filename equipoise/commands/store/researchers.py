"""`equipoise researchers`: accounts with which researchers sign in to the pages of a study."""

import re
from dataclasses import replace
from typing import Literal

from batteries.errors import InputError
from equipoise.commands.store_access import BY_COMMAND, StoreAddress, StudyFolder, loaded, store_of, store_to_read
from experiment.study.definition import Study
from server.researchers.passwords import checked_password, hash_password
from server.researchers.second_factor import enrolment_uri, new_secret
from server.researchers.signed_in import LINK
from server.store import Access, Account, Conflict, Role, Store

NAME_PATTERN = r"[a-z0-9][a-z0-9._@-]{0,63}"
AnyRole = Literal["owner", "researcher", "viewer"]


def researchers_list(study: StudyFolder, store: StoreAddress | None = None) -> list[tuple[str, ...]]:
    """Return the accounts of a study.

    Parameters
    ----------
    study
        The study or its folder.
    store
        The store; by default the store in the settings.

    Returns
    -------
    list of tuple of str
        Rows of a table: the header, and one row for each account with its name, role, second factor and state.
    """
    study = loaded(study)
    with store_to_read(study, store) as opened:
        accounts = opened.accounts(study)
    rows = [
        (one.name, one.role.value, "yes" if one.totp_secret else "no", "" if one.is_active else "disabled")
        for one in accounts
    ]
    return [("account", "role", "second factor", ""), *rows]


def researchers_add(
    study: StudyFolder, name: str, password: str, role: AnyRole = "researcher", store: StoreAddress | None = None
) -> None:
    """Make an account.

    Parameters
    ----------
    study
        The study or its folder.
    name
        Name of the account: small letters, digits and `._@-`. The study's log contains the name.
    password
        The password, of at least 8 characters; 15 or more are advised.
    role
        `viewer` may read, `researcher` may also change the data collection, `owner` may also delete responses.
    store
        The store; by default the store in the settings.

    Raises
    ------
    InputError
        If the name is invalid or exists already, or if the password is easy to guess.
    """
    study = loaded(study)
    if not re.fullmatch(NAME_PATTERN, name) or name == LINK:
        raise InputError(
            f"{name}: this cannot be the name of an account. Fix: choose 1 to 64 small letters, digits and the signs "
            f"._@-, beginning with a letter or a digit, but not `{LINK}`."
        )
    account = Account(name, _role(role), hash_password(checked_password(password, name, study.name)))
    with store_of(study, store) as opened:
        _save(opened, study, account, Access.ACCOUNT_ADDED)


def researchers_role(study: StudyFolder, name: str, role: AnyRole, store: StoreAddress | None = None) -> None:
    """Change the role of an account. The change applies to the next request of the researcher.

    Parameters
    ----------
    study
        The study or its folder.
    name
        Name of the account.
    role
        `viewer`, `researcher` or `owner`.
    store
        The store; by default the store in the settings.

    Raises
    ------
    InputError
        If the account or the role does not exist.
    """
    _change(study, name, Access.ROLE_CHANGED, store, role=_role(role))


def researchers_password(study: StudyFolder, name: str, password: str, store: StoreAddress | None = None) -> None:
    """Set a new password, and end all sign-ins with the old password.

    Parameters
    ----------
    study
        The study or its folder.
    name
        Name of the account.
    password
        The new password, of at least 8 characters; 15 or more are advised.
    store
        The store; by default the store in the settings.

    Raises
    ------
    InputError
        If the account does not exist, or if the password is easy to guess.
    """
    study = loaded(study)
    password_hash = hash_password(checked_password(password, name, study.name))
    _change(study, name, Access.PASSWORD_CHANGED, store, password_hash=password_hash)


def researchers_second_factor(
    study: StudyFolder, name: str, off: bool = False, store: StoreAddress | None = None
) -> str | None:
    """Set up a second factor with a new secret, and end all sign-ins; or remove the second factor.

    Parameters
    ----------
    study
        The study or its folder.
    name
        Name of the account.
    off
        True to remove the second factor, for instance because the researcher has lost the telephone.
    store
        The store; by default the store in the settings.

    Returns
    -------
    str or None
        The address (`otpauth://...`) that the researcher enters in an authenticator app; None if `off` is True.

    Raises
    ------
    InputError
        If the account does not exist.
    """
    study = loaded(study)
    if off:
        _change(study, name, Access.SECOND_FACTOR_REMOVED, store, totp_secret=None)
        return None
    secret = new_secret()
    _change(study, name, Access.SECOND_FACTOR_SET, store, totp_secret=secret)
    return enrolment_uri(secret, name, study.name)


def researchers_disable(study: StudyFolder, name: str, store: StoreAddress | None = None) -> None:
    """Disable an account, and end all its sign-ins.

    Parameters
    ----------
    study
        The study or its folder.
    name
        Name of the account.
    store
        The store; by default the store in the settings.

    Raises
    ------
    InputError
        If the account does not exist.
    """
    _change(study, name, Access.ACCOUNT_DISABLED, store, is_active=False)


def researchers_enable(study: StudyFolder, name: str, store: StoreAddress | None = None) -> None:
    """Enable a disabled account.

    Parameters
    ----------
    study
        The study or its folder.
    name
        Name of the account.
    store
        The store; by default the store in the settings.

    Raises
    ------
    InputError
        If the account does not exist.
    """
    _change(study, name, Access.ACCOUNT_ENABLED, store, is_active=True)


def researchers_remove(study: StudyFolder, name: str, store: StoreAddress | None = None) -> None:
    """Delete an account, and end all its sign-ins. The study's log keeps the name and the actions of the account.

    Parameters
    ----------
    study
        The study or its folder.
    name
        Name of the account.
    store
        The store; by default the store in the settings.

    Raises
    ------
    InputError
        If the account does not exist.
    """
    study = loaded(study)
    with store_of(study, store, must_exist=True) as opened:
        if not opened.remove_account(study, name, BY_COMMAND):
            raise _unknown(name)


def _change(study: StudyFolder, name: str, change: Access, location: StoreAddress | None, **fields: object) -> None:
    study = loaded(study)
    with store_of(study, location, must_exist=True) as store:
        account = store.account(study, name)
        if account is None:
            raise _unknown(name)
        _save(store, study, replace(account, **fields), change)  # type: ignore[arg-type]


def _save(store: Store, study: Study, account: Account, change: Access) -> None:
    try:
        store.save_account(study, account, change, BY_COMMAND)
    except Conflict as conflict:
        raise InputError(str(conflict)) from None


def _role(role: str) -> Role:
    try:
        return Role(role)
    except ValueError:
        raise InputError(f"{role}: unknown role. Fix: choose {', '.join(Role)}.") from None


def _unknown(name: str) -> InputError:
    return InputError(
        f"{name}: this study has no account with this name. Fix: list the accounts with `equipoise researchers list`."
    )
