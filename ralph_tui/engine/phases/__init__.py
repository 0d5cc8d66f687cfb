"""The phases around building: discovery, planning, validation. Each decides its own criteria."""
