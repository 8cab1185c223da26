"""Uses the Python client that scripts/clients generates from the OpenAPI document."""

import datetime
import importlib
import os
import pkgutil
import unittest

import holdfast_client
from holdfast_client import AuthenticatedClient
from holdfast_client.api.events import create_event
from holdfast_client.api.locks import acquire_lock, list_locks
from holdfast_client.api.users import create_user
from holdfast_client.models import Event, Lock, LockList, LockStatus, NewEvent, NewLock, NewUser, Problem, ProblemCode, User


class GeneratedClient(unittest.TestCase):
    def test_every_module_can_be_imported(self):
        for module in pkgutil.walk_packages(holdfast_client.__path__, "holdfast_client."):
            importlib.import_module(module.name)

    def test_acquires_a_lock(self):
        with AuthenticatedClient(base_url=os.environ["HOLDFAST_URL"], token=os.environ["HOLDFAST_KEY"]) as client:
            date = datetime.datetime(2030, 6, 15, 19, tzinfo=datetime.timezone.utc)
            event = create_event.sync(client=client, body=NewEvent(name="Python", total_seats=3, event_date=date))
            self.assertIsInstance(event, Event)
            user = create_user.sync(client=client, body=NewUser(name="Ada", email=f"python-{event.id}@example.com"))
            self.assertIsInstance(user, User)
            request = NewLock(event_id=event.id, user_id=user.id, seats=2)
            lock = acquire_lock.sync(client=client, body=request)
            self.assertIsInstance(lock, Lock)
            self.assertEqual((lock.status, lock.seats), (LockStatus.ACTIVE, 2))
            refused = acquire_lock.sync(client=client, body=request)
            self.assertIsInstance(refused, Problem)
            self.assertEqual((refused.code, refused.available), (ProblemCode.SEATS_UNAVAILABLE, 1))
            locks = list_locks.sync(client=client, event_id=event.id)
            self.assertIsInstance(locks, LockList)
            self.assertEqual(len(locks.items), 1)


if __name__ == "__main__":
    unittest.main()
